"""Settings, all from the environment; docs/settings.md lists every variable.

Without any, everything is embedded under `var/`: DoltLite for the memory, SQLite for the rest, tasks
run inline. MEMORY_DATABASE_URL, DATABASE_URL and REDIS_URL select servers instead.
"""

import gc
import re
import sys
from datetime import timedelta
from email.utils import parseaddr
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import django_stubs_ext
import environ
from csp.constants import NONE, SELF

from assent_client.text import notes
from memory_app.configuration import environment, logs
from memory_app.configuration.connections import default_database, memory_database
from memory_app.configuration.environment import BadSetting, Environment, secret_key, text_key
from memory_app.dolt import library
from memory_app.webserver import options

# What a start makes stays, and a quarter of a start went by looking for garbage in it. `agent_tools.apps`, the last to
# be ready, has it looked for again.
gc.disable()

# Lets `admin.ModelAdmin[Proposal]` be written for the type checker; at run time it means nothing.
django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent

env = Environment()

# -- where things are -----------------------------------------------------------------------------

DATA_DIR = Path(env.text("ASSENT_DATA_DIR", default=str(BASE_DIR / "var"))).resolve()
environment.make(DATA_DIR)

DEBUG = env.switch("ASSENT_DEBUG", default=False)
PUBLIC_URL = env.text("ASSENT_PUBLIC_URL", default="http://127.0.0.1:8000").rstrip("/")
env.require_url("ASSENT_PUBLIC_URL", PUBLIC_URL, schemes=("https", "http"))

SECRET_KEY = secret_key(env, DATA_DIR, is_required=not DEBUG)
ALLOWED_HOSTS = env.words("ASSENT_ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
ALLOWED_HOSTS.append(re.sub(r":\d+$", "", urlsplit(PUBLIC_URL).netloc))
CSRF_TRUSTED_ORIGINS = env.words("ASSENT_CSRF_TRUSTED_ORIGINS")
for _host in ALLOWED_HOSTS:
    if "/" in _host:
        raise BadSetting(f"ASSENT_ALLOWED_HOSTS has {_host!r}: each has to be a host name alone, without https://.")
for _origin in CSRF_TRUSTED_ORIGINS:
    env.require_url("ASSENT_CSRF_TRUSTED_ORIGINS", _origin, schemes=("https", "http"))

# -- the two databases ----------------------------------------------------------------------------

MEMORY_DATABASE_URL = env.secret("MEMORY_DATABASE_URL")
DATABASE_URL = env.secret("DATABASE_URL")
MEMORY_SERVERS = env.addresses("ASSENT_MEMORY_SERVERS", schemes=("mysql",))
REDIS_URL = env.secret("REDIS_URL")
env.require_url("MEMORY_DATABASE_URL", MEMORY_DATABASE_URL, schemes=("mysql",))
env.require_url("DATABASE_URL", DATABASE_URL, schemes=("postgres", "postgresql"))
env.require_url("REDIS_URL", REDIS_URL, schemes=("redis", "rediss", "unix"))

EMBEDDED_MEMORY = not MEMORY_DATABASE_URL
if EMBEDDED_MEMORY:
    library.load()  # before anything imports sqlite3

# Containers have no folder that stays.
TEXT_KEY = text_key(env, DATA_DIR, is_required=not EMBEDDED_MEMORY and not DEBUG)

# What was erased, outside both databases and their backups.
ERASED_LIST: Path | None = DATA_DIR / "erased.jsonl" if EMBEDDED_MEMORY or DEBUG else None
if named := env.text("ASSENT_ERASED_LIST"):
    ERASED_LIST = Path(named)

# Where `default` is SQLite.
DEFAULT_FILE = None if DATABASE_URL else DATA_DIR / "assent.sqlite3"

DATABASES = {
    "default": default_database(DATABASE_URL, DEFAULT_FILE),
    "memory": memory_database(MEMORY_DATABASE_URL, DATA_DIR / "memory.doltlite"),
}
DATABASE_ROUTERS = ["memory_app.databases.routers.MemoryRouter"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# -- the application ------------------------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "csp",
    "django_htmx",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "allauth.idp.oidc",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "memory_app",
    "approvals",
    "agent_tools",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "agent_tools.http.middleware.RequestIdMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "agent_tools.http.middleware.CallMiddleware",
    # Those of the pages, which calls of agents do not come to.
    "csp.middleware.CSPMiddleware",
    "approvals.middleware.LanguageMiddleware",
    "approvals.middleware.ReadableMiddleware",
    "approvals.middleware.DeadlineMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "approvals.middleware.ViewerMiddleware",
    "approvals.middleware.PageMiddleware",
]

ROOT_URLCONF = "memory_app.urls"
WSGI_APPLICATION = "memory_app.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "approvals.context_processors.navigation",
            ],
        },
    },
]

AUTH_USER_MODEL = "approvals.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "approvals.audit.RecordedPassword", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "sign_in"
LOGIN_REDIRECT_URL = "inbox"
LOGOUT_REDIRECT_URL = "sign_in"

# Of what is for no person, such as answers to agents, and of texts without a translation. People choose theirs, see
# `approvals.language`.
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
SITE_LANGUAGE = env.choice("ASSENT_LANGUAGE", allowed=tuple(dict(LANGUAGES)), default="en")
# Ours, and what we say in place of the libraries' own translations.
LOCALE_PATHS = [BASE_DIR / "locale", BASE_DIR / "locale" / "of-libraries"]
FORMAT_MODULE_PATH = ["memory_app.formats"]
TIME_ZONE = "UTC"

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
# Served at the root: browsers ask for /favicon.ico unasked.
WHITENOISE_ROOT = BASE_DIR / "static" / "root"

# Each instance has its cookies to itself even when two run on one host under different ports.
# Over https with a prefix, by which browsers take them from this host alone: a sub-domain cannot plant its own.
_HTTPS = PUBLIC_URL.startswith("https://")
_ONLY_THIS_HOST = "__Host-" if _HTTPS else ""
SESSION_COOKIE_NAME = f"{_ONLY_THIS_HOST}assent_session"
CSRF_COOKIE_NAME = f"{_ONLY_THIS_HOST}assent_csrf"
CSRF_FAILURE_VIEW = "approvals.views.panels.csrf_failure"
SESSION_ENGINE = "approvals.accounts.sessions"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _HTTPS
# Browsers then refuse plain http for so long. Less, where a site may have to go back to http.
SECURE_HSTS_SECONDS = env.whole(
    "ASSENT_HSTS_SECONDS",
    default=int(timedelta(days=365).total_seconds()) if _HTTPS else 0,
    most=int(timedelta(days=3_650).total_seconds()),
)
# Not for machines: a redirect comes after the token was sent in the clear and turns a POST into a GET, and whoever
# asks for our health, or calls from a container beside this one, has no TLS.
SECURE_SSL_REDIRECT = env.switch("ASSENT_SSL_REDIRECT", default=_HTTPS)
SECURE_REDIRECT_EXEMPT = ["^api/", "^mcp(/|$)", "^healthz$", "^readyz$", "^metrics$"]
SECURE_SSL_HOST = urlsplit(PUBLIC_URL).netloc if _HTTPS else None
# Sub-domains, and the browsers' list of hosts that never use http, are not ours to promise.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _HTTPS else None

# -- signing in: with a password, with a provider of OpenID Connect, and with a second factor -----------

OIDC_URL = env.text("ASSENT_OIDC_URL").rstrip("/").removesuffix("/.well-known/openid-configuration")
env.require_url("ASSENT_OIDC_URL", OIDC_URL, schemes=("https", "http") if DEBUG else ("https",))
OIDC_NAME = env.text("ASSENT_OIDC_NAME", default="single sign-on")
OIDC_USERNAME_CLAIM = env.text("ASSENT_OIDC_USERNAME_CLAIM", default="preferred_username")
# Whose mail addresses make people on their first sign-in.
OIDC_DOMAINS = [_domain.lower() for _domain in env.words("ASSENT_OIDC_DOMAINS")]
# Whether their addresses are verified although the provider does not say so, as Microsoft's does not.
OIDC_TRUST_MAIL = env.switch("ASSENT_OIDC_TRUST_MAIL", default=False)
# Values of the claims `amr` or `acr` that say that the provider saw a second factor; `any`: it always does.
OIDC_SECOND_FACTOR = env.words("ASSENT_OIDC_SECOND_FACTOR")
LOCAL_SIGN_IN = env.switch("ASSENT_LOCAL_SIGN_IN", default=True)
SECOND_FACTOR_REQUIRED = env.switch("ASSENT_SECOND_FACTOR_REQUIRED", default=not DEBUG)
SAML_METADATA_URL = env.text("ASSENT_SAML_METADATA_URL")
SAML_ENTITY_ID = env.text("ASSENT_SAML_ENTITY_ID")
_PROVIDER_URL = OIDC_URL or SAML_METADATA_URL
env.require_url("ASSENT_SAML_METADATA_URL", SAML_METADATA_URL, schemes=("https", "http") if DEBUG else ("https",))
# An account is known by this and its `sub`: another issuer's accounts are others.
OIDC_PROVIDER = re.sub("[^a-z0-9.]+", "-", (SAML_ENTITY_ID or OIDC_URL).lower().rpartition("://")[2])
_OIDC_APP = {
    "provider_id": OIDC_PROVIDER,
    "name": OIDC_NAME,
    "client_id": env.text("ASSENT_OIDC_CLIENT_ID"),
    "secret": env.secret("ASSENT_OIDC_CLIENT_SECRET"),
    "settings": {"server_url": OIDC_URL},
}
_SAML_APP = {
    "provider_id": OIDC_PROVIDER,
    "name": OIDC_NAME,
    "client_id": "idp",
    "settings": {
        "idp": {"entity_id": SAML_ENTITY_ID, "metadata_url": SAML_METADATA_URL},
        # A name for one visit would be another person with each.
        "advanced": {
            "want_assertion_signed": True,
            "name_id_format": "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
        },
    },
}
if OIDC_URL and not _OIDC_APP["client_id"]:
    raise BadSetting("ASSENT_OIDC_CLIENT_ID is empty: ASSENT_OIDC_URL needs it.")
if not OIDC_PROVIDER and not LOCAL_SIGN_IN:
    raise BadSetting("ASSENT_LOCAL_SIGN_IN is off: that needs another way to sign in, as ASSENT_OIDC_URL.")
if bool(SAML_METADATA_URL) != bool(SAML_ENTITY_ID) or (SAML_ENTITY_ID and OIDC_URL):
    raise BadSetting("ASSENT_SAML_METADATA_URL needs ASSENT_SAML_ENTITY_ID, and a site without ASSENT_OIDC_URL.")
if SAML_ENTITY_ID and not find_spec("onelogin"):
    raise BadSetting(
        "ASSENT_SAML_ENTITY_ID needs packages that are not installed: see docs/signing-in.md, “With SAML”."
    )
if SAML_ENTITY_ID:
    INSTALLED_APPS.append("allauth.socialaccount.providers.saml")
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [_OIDC_APP] if OIDC_URL else []},
    "saml": {"APPS": [_SAML_APP] if SAML_ENTITY_ID else []},
}
SOCIALACCOUNT_ADAPTER = "approvals.accounts.providers.ProviderAdapter"
ACCOUNT_ADAPTER = "approvals.accounts.providers.AccountAdapter"
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if _HTTPS else "http"
ACCOUNT_EMAIL_VERIFICATION = "none"
MFA_ADAPTER = "approvals.accounts.second_factor.FactorAdapter"
MFA_TOTP_ISSUER = "Assent"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_ALLOW_UNVERIFIED_EMAIL = True
# Programs that connect by OAuth, `agent_tools.console.connections`.
IDP_OIDC_ADAPTER = "agent_tools.console.connections.ConnectionAdapter"
IDP_OIDC_DCR_ENABLED = True
IDP_OIDC_DCR_REQUIRES_INITIAL_ACCESS_TOKEN = False
IDP_OIDC_RATE_LIMITS = {"client_registration": "20/m/ip"}  # room for a class behind one address
IDP_OIDC_ACCESS_TOKEN_EXPIRES_IN = 15 * 60
IDP_OIDC_REFRESH_TOKEN_EXPIRES_IN = int(timedelta(days=90).total_seconds())
MFA_TOTP_TOLERANCE = 1  # a phone whose clock is half a minute off

_SERVED_BY_US = ("script-src", "style-src", "font-src", "connect-src", "form-action", "manifest-src")
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": dict.fromkeys(("default-src", "base-uri", "frame-ancestors"), (NONE,))
    | dict.fromkeys(_SERVED_BY_US, (SELF,))
    | {"img-src": (SELF, "data:")}
    # A browser also holds the redirect that follows a form against it.
    | {"form-action": (SELF, *(["{0.scheme}://{0.netloc}".format(urlsplit(_PROVIDER_URL))] if _PROVIDER_URL else ()))}
}

# -- mail: links to reset a password, and digests; printed to the log until a server is named ---------

_EMAIL_URL = env.secret("ASSENT_EMAIL_URL") or "consolemail://"
env.require_url("ASSENT_EMAIL_URL", _EMAIL_URL, schemes=tuple(environ.Env.EMAIL_SCHEMES))
vars().update(environ.Env.email_url_config(_EMAIL_URL))
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.text("ASSENT_EMAIL_FROM", default="Assent <assent@localhost>")
if "@" not in parseaddr(DEFAULT_FROM_EMAIL)[1]:
    raise BadSetting(f"ASSENT_EMAIL_FROM is {DEFAULT_FROM_EMAIL!r}: it has to be a mail address, as in 'Name <a@b.c>'.")

# -- Celery and the cache -------------------------------------------------------------------------

CACHES = {
    "default": {
        "BACKEND": "memory_app.runtime.cache_values.RedisCache",
        "LOCATION": REDIS_URL,
        # Asked on each call, for a count: a Redis that hangs must not hold up what it only counts.
        "OPTIONS": {
            "socket_connect_timeout": 0.5,
            "socket_timeout": 0.5,
            # Django's own unpickles what it reads: whoever may write to Redis would run code here.
            "serializer": "memory_app.runtime.cache_values.JsonSerializer",
        },
    }
    if REDIS_URL
    else {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        # It drops what was not asked for lately when it is full. At Django's 300, strangers who sign in under
        # made-up names would make it forget the tries and calls that are counted in it.
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
}

# Inline tasks open a connection that is never used; nameless, it would be warned about in the log.
CELERY_BROKER_URL = REDIS_URL or "memory://localhost"
CELERY_TASK_ALWAYS_EAGER = not REDIS_URL
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
# Whoever may write to the broker must not have anything unpickled either.
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# An approval must not wait for a broker that is away: beat and reading make up for a lost message.
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_connect_timeout": 1, "socket_timeout": 2, "max_retries": 0}
# Done by the clock: name → task and seconds between two runs.
CELERY_BEAT_SCHEDULE = {
    "recover": {"task": "approvals.recover", "schedule": 30.0},
    # The other looks at what happened last; this lists all branches.
    "recover everything": {"task": "approvals.recover_everything", "schedule": 3600.0},
    "continue batches": {"task": "approvals.continue_batches", "schedule": 30.0},
    "expire": {"task": "approvals.expire", "schedule": 3600.0},
    "remind": {"task": "approvals.remind", "schedule": 600.0},
    # A run that comes late finds nothing that the next one does not.
    "send digests": {"task": "approvals.send_digests", "schedule": 20.0, "options": {"expires": 20}},
    # Those that the mail server did not take.
    "send invitations": {"task": "approvals.send_invitations", "schedule": 3600.0},
    # What a decision leads to is found there; a run takes milliseconds, since threads do the sending.
    "send webhooks": {"task": "agent_tools.send_webhooks", "schedule": 5.0, "options": {"expires": 5}},
    "reindex what was left behind": {"task": "memory_app.reindex_all", "schedule": 60.0},
    "keep counts": {"task": "approvals.keep_counts", "schedule": 60.0},
    "correct counts": {"task": "approvals.correct_counts", "schedule": 86400.0},
    "collect garbage": {"task": "memory_app.gc", "schedule": 86400.0},
    "end history": {"task": "approvals.end_history", "schedule": 86400.0},
    "purge conversations": {"task": "memory_app.purge_conversations", "schedule": 86400.0},
    "purge idempotency keys": {"task": "agent_tools.purge", "schedule": 3600.0},
    "purge webhook deliveries": {"task": "agent_tools.purge_webhook_deliveries", "schedule": 86400.0},
    "purge tool calls": {"task": "agent_tools.purge_tool_calls", "schedule": 86400.0},
    "purge sessions and audit": {"task": "approvals.purge_sessions_and_audit", "schedule": 86400.0},
}

# What of it is done otherwise where there is no beat; the rest `runtime.upkeep` does by the clock.
DONE_WITHOUT_CLOCK = {
    "recover": "requests that read do it, twice a minute",
    "reindex what was left behind": "the next search for that owner does it",
    "collect garbage": "upkeep looks at the file every ten seconds",
}
WITHOUT_BEAT = [name for name in CELERY_BEAT_SCHEDULE if name not in DONE_WITHOUT_CLOCK]

# -- Assent's own ---------------------------------------------------------------------------------

#: A hundred years; a date before the year 1 cannot be reckoned with.
_LONGEST_DAYS = 36_500
BLOCK_LIMIT = env.whole("ASSENT_BLOCK_LIMIT", default=20_000, least=1, most=200_000)
# What becomes of a note an agent saves when its owner has said nothing: applied at once, or a proposal.
NOTES_POLICY = env.choice("ASSENT_NOTES_POLICY", allowed=("apply", "review"), default="apply")
TRUST_SMALL_WORDS = env.whole("ASSENT_TRUST_SMALL_WORDS", default=30)
TRUST_SMALL_DELETED_PERCENT = env.whole("ASSENT_TRUST_SMALL_DELETED_PERCENT", default=10, most=100)
EMBEDDER = env.choice("ASSENT_EMBEDDER", allowed=("wordllama", "openai", "none"), default="wordllama")
EMBEDDER_MODEL = env.text("ASSENT_EMBEDDER_MODEL")
EMBEDDER_URL = env.text("ASSENT_EMBEDDER_URL")
EMBEDDER_KEY = env.secret("ASSENT_EMBEDDER_KEY")
env.require_url("ASSENT_EMBEDDER_URL", EMBEDDER_URL, schemes=("https", "http"))
if EMBEDDER == "openai":
    for _name, _value in (("ASSENT_EMBEDDER_URL", EMBEDDER_URL), ("ASSENT_EMBEDDER_MODEL", EMBEDDER_MODEL)):
        if not _value:
            raise BadSetting(f"{_name} is empty: ASSENT_EMBEDDER is 'openai', which needs it.")
EMBEDDER_DIMENSIONS = env.whole("ASSENT_EMBEDDER_DIMENSIONS", default=1536, least=1, most=65_536)
COSINE_FLOOR = env.number("ASSENT_COSINE_FLOOR", default=0.25, most=1)
SEARCH_MEMORY_MB = env.whole("ASSENT_SEARCH_MEMORY_MB", default=512, least=1)
HISTORY_DAYS = env.whole("ASSENT_HISTORY_DAYS", default=0, most=_LONGEST_DAYS)
CONVERSATION_DAYS = env.whole("ASSENT_CONVERSATION_DAYS", default=90, most=_LONGEST_DAYS)
# What of the notes goes into an agent's context (agent_tools.tools.guidance).
MEMORIES_ENABLED = env.switch("MEMORIES_ENABLED", default=True)
MEMORIES_INJECT = env.choice("MEMORIES_INJECT", allowed=("auto", "manual", "none"), default="auto")
MEMORIES_BUDGET = env.whole("MEMORIES_BUDGET", default=2_000)
MEMORIES_BLOCKS_BUDGET = env.whole("MEMORIES_BLOCKS_BUDGET", default=16_000)
MEMORIES_FILTER_TYPES = env.words("MEMORIES_FILTER_TYPES", allowed=notes.TYPES)
MEMORIES_FILTER_TAGS = env.words("MEMORIES_FILTER_TAGS")
MEMORIES_FILTER_RECENT = env.whole("MEMORIES_FILTER_RECENT", default=0, most=_LONGEST_DAYS)
MEMORIES_SKILL_INJECTION = env.switch("MEMORIES_SKILL_INJECTION", default=True)
PROPOSAL_EXPIRY = timedelta(days=env.whole("ASSENT_PROPOSAL_EXPIRY_DAYS", default=30, least=1, most=_LONGEST_DAYS))
REJECTION_COUNTS = timedelta(days=env.whole("ASSENT_REJECTION_COUNTS_DAYS", default=180, most=_LONGEST_DAYS))
HAND_BACK_AFTER = timedelta(days=env.whole("ASSENT_HAND_BACK_DAYS", default=3, most=_LONGEST_DAYS))
CLOSE_ALREADY_APPLIED_AFTER = timedelta(days=env.whole("ASSENT_ALREADY_APPLIED_DAYS", default=1, most=_LONGEST_DAYS))
# Reviewers, and then the owner, are reminded of a proposal that waits so long; 0 never.
REMIND_AFTER = timedelta(days=env.whole("ASSENT_REMIND_DAYS", default=7, most=_LONGEST_DAYS))
REMIND_OWNER_AFTER = timedelta(days=env.whole("ASSENT_REMIND_OWNER_DAYS", default=14, most=_LONGEST_DAYS))
# The hour of the day, where the reader is, at which daily and weekly mails go out.
MAIL_HOUR = env.whole("ASSENT_MAIL_HOUR", default=7, most=23)
PENDING_CAP = env.whole("ASSENT_PENDING_CAP", default=20, least=1)
# DoltLite rewrites all refs on each write: 8 ms at 1,000 live branches, 109 ms at 5,000.
MAX_OPEN_PROPOSALS = env.whole("ASSENT_MAX_OPEN_PROPOSALS", default=2_000 if EMBEDDED_MEMORY else 20_000, least=1)
LEASE = timedelta(seconds=env.whole("ASSENT_LEASE_SECONDS", default=30, least=1, most=86_400))
REQUEST_LIMIT = options.read(env).largest_call
# The longest a page may wait for its databases, in seconds. Files of notes may take longer.
PAGE_TIMEOUT = env.number("ASSENT_PAGE_TIMEOUT", default=10, least=0.1, most=3_600)
# The longest any tool may take, in seconds, whatever it declares; 0 leaves it at that.
TOOL_TIMEOUT = env.number("ASSENT_TOOL_TIMEOUT", default=0, most=3_600)
# Characters of a tool's answer unless the call says otherwise. A block of the usual limit fits whole.
ANSWER_BUDGET = env.whole("ASSENT_ANSWER_BUDGET", default=20_000, least=1_000, most=1_000_000)
# The rows about tool calls are deleted after this many days; 0 keeps them.
TOOL_CALL_DAYS = env.whole("ASSENT_TOOL_CALL_DAYS", default=90, most=_LONGEST_DAYS)
# What people did, and who opened whose memory, is deleted after this many days; 0 keeps it.
AUDIT_DAYS = env.whole("ASSENT_AUDIT_DAYS", default=365, most=_LONGEST_DAYS)
# Networks of the installation's own that webhooks may reach, and by http; all other private ones are refused.
WEBHOOK_ALLOWED_NETWORKS = env.networks("ASSENT_WEBHOOK_ALLOWED_NETWORKS")
# The log of what was sent to webhooks is deleted after this many days; 0 keeps it.
WEBHOOK_DELIVERY_DAYS = env.whole("ASSENT_WEBHOOK_DELIVERY_DAYS", default=30, most=_LONGEST_DAYS)
RATE_LIMIT = env.whole("ASSENT_RATE_LIMIT", default=120, least=1)
CALLS_UNDER_WAY = options.read(env).calls_under_way
SIGN_IN_LIMIT = env.whole("ASSENT_SIGN_IN_LIMIT", default=10, least=1)
# How long the link of an invitation works.
INVITATION_DAYS = env.whole("ASSENT_INVITATION_DAYS", default=14, least=1, most=_LONGEST_DAYS)
# How many proxies in front of us write `X-Forwarded-For`; what others wrote there is anybody's invention.
TRUSTED_PROXIES = env.whole("ASSENT_TRUSTED_PROXIES", default=0, most=20)
MOST_WAITING = options.read(env).threads // 3  # clients that wait for a decision: each holds a thread of its process
IDEMPOTENCY_HOURS = env.whole("ASSENT_IDEMPOTENCY_HOURS", default=24, least=1, most=24 * _LONGEST_DAYS)
DATA_UPLOAD_MAX_MEMORY_SIZE = options.read(env).largest_form
# A tick is a field, and so many proposals are decided at once (`approvals.services.several`); 1,000 by default.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 3_000

# The agent API itself is in `agent_tools`.
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["agent_tools.auth.TokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "agent_tools.http.messages.exception_handler",
    "UNAUTHENTICATED_USER": None,
    # `?format=` belongs to GET /api/v1/tools/, not to content negotiation.
    "URL_FORMAT_OVERRIDE": None,
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Assent agent API",
    "DESCRIPTION": "What an AI agent remembers about a person: read it freely, propose changes to it.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "LICENSE": {"name": "MIT", "identifier": "MIT"},
    # Relative to the document: whatever address leads here is right, behind a proxy too.
    "SERVERS": [{"url": "/", "description": "This installation"}],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],
    "POSTPROCESSING_HOOKS": ["agent_tools.http.openapi.add_tools"],
}

# -- logging --------------------------------------------------------------------------------------

LOG_LEVEL = options.read(env).log_level
LOG_FORMAT = env.choice(
    "ASSENT_LOG_FORMAT", allowed=("json", "console"), default="console" if sys.stderr.isatty() else "json"
)
# Who asks for figures at /metrics says this (`Authorization: Bearer …`); without it there is no such address.
METRICS_TOKEN = env.secret("ASSENT_METRICS_TOKEN")
# Errors are sent to this project of Sentry's, without texts, addresses and people (`configuration.errors`).
SENTRY_DSN = env.secret("ASSENT_SENTRY_DSN")
env.require_url("ASSENT_SENTRY_DSN", SENTRY_DSN, schemes=("https", "http"))
#: Names that are no settings though they look like it; said in the log when the program starts (`memory_app.apps`).
UNKNOWN_SETTINGS = env.unknown()

LOGGING = logs.configuration(level=LOG_LEVEL, form=LOG_FORMAT)
