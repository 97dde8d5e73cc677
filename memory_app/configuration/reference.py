"""What each setting means, and `docs/settings.md`, which is written from that and from how the settings are read.

Belongs here: the meaning of every setting, by subject. Not here: defaults and allowed values, which `settings` and
`webserver.options` give when they read (`Environment.readings`). A default that depends on something else is said in
words here.
"""

from collections.abc import Iterable, Mapping

from memory_app.configuration.environment import READ_ELSEWHERE, Reading

_HEAD = """\
# Settings

*Written by `manage.py settings_reference` from the code; edit that, not this.*

All settings are environment variables. With none of them Assent runs embedded, from files under `var/`.

- A value that cannot be used stops the start with an error that says what is allowed. An empty one counts as not set.
- A name that begins like ours and is not a setting is logged as `unknown_setting`, with the nearest one.
- Settings marked ⤷ hold secrets. With `_FILE` at the end of the name they are read from the file it names (one line),
  as in `ASSENT_SECRET_KEY_FILE=/run/secrets/key`.
"""

#: Subject → setting → meaning. Every setting is in one of them; a test compares them with what is read.
MEANINGS: dict[str, dict[str, str]] = {
    "The site": {
        "ASSENT_DATA_DIR": "where the embedded databases and the development key are kept",
        "ASSENT_DEBUG": "developing: error pages, demo data, a key of its own (`make run` sets it)",
        "ASSENT_SECRET_KEY": "required unless debugging: signs sessions; at least 32 random characters (`openssl "
        "rand -base64 48`), a shorter or simpler one is refused",
        "ASSENT_PUBLIC_URL": "the address people use; `https://…` makes cookies secure and trusts `X-Forwarded-Proto`",
        "ASSENT_ALLOWED_HOSTS": "host names to answer to",
        "ASSENT_CSRF_TRUSTED_ORIGINS": "origins of forms when a proxy changes the host",
        "ASSENT_HSTS_SECONDS": "how long browsers refuse plain http after a visit. Raise it (a year: `31536000`) "
        "when the site is to stay on https: until it has run out there is no way back",
        "ASSENT_SSL_REDIRECT": "pages asked for over http are redirected; the proxy has to send `X-Forwarded-Proto`, "
        "or this goes round in circles. Not for `/api/`, `/mcp`, `/healthz` and `/readyz`",
        "ASSENT_TRUSTED_PROXIES": "proxies in front that add to `X-Forwarded-For` (`docker-compose.yml` sets `1`, "
        "for its nginx). With `0` it is ignored, and all people behind a proxy share one address and its sign-in "
        "attempts",
        "ASSENT_EMAIL_URL": "mail server for password links and for mail about waiting proposals, "
        "`smtp+tls://user:password@host:587`; until it is set they are printed to the log",
        "ASSENT_EMAIL_FROM": "sender of these mails",
        "ASSENT_MAIL_HOUR": "hour of the day, in each person’s time zone, at which daily and weekly mails are sent",
    },
    "Databases": {
        "MEMORY_DATABASE_URL": "`mysql://user:password@host:3306/name` of a Dolt sql-server",
        "DATABASE_URL": "`postgres://user:password@host:5432/name` (PostgreSQL 14 or newer); Dolt is refused here. A "
        "start-up option goes along, which PgBouncer has to be told to ignore (`ignore_startup_parameters = options`)",
        "REDIS_URL": "`redis://host:6379/0`: Celery's broker and the shared cache; without it tasks run inline",
    },
    "Blocks, notes and proposals": {
        "ASSENT_BLOCK_LIMIT": "characters a new block may hold (each block has its own limit)",
        "ASSENT_NOTES_POLICY": "notes agents save: `apply` (at once, labelled, reversible) or `review`, unless the "
        "owner says otherwise",
        "ASSENT_TRUST_SMALL_WORDS": "words added and removed up to which a change is small, for rules that let an "
        "agent apply small changes at once",
        "ASSENT_TRUST_SMALL_DELETED_PERCENT": "a change that takes away more of a text than this is not small",
        "ASSENT_PROPOSAL_EXPIRY_DAYS": "undecided proposals are closed after this many days",
        "ASSENT_REJECTION_COUNTS_DAYS": "an agent that proposes again what was rejected within so many days is told "
        "why it was, and nobody is asked again unless it insists; `0`: people are asked each time",
        "ASSENT_HAND_BACK_DAYS": "a proposal that has not fitted its text for this many days goes back to its agent, "
        "which can propose it again on the current text; `0`: at the next hourly look",
        "ASSENT_ALREADY_APPLIED_DAYS": "a proposal whose change has been in the memory for this many days is "
        "closed; `0`: at the next hourly look",
        "ASSENT_REMIND_DAYS": "reviewers are reminded of a proposal that has waited so many days; `0` never",
        "ASSENT_REMIND_OWNER_DAYS": "its owner is reminded after so many days, or seven days before it "
        "expires; `0` never",
        "ASSENT_PENDING_CAP": "undecided proposals an agent may have for one owner",
        "ASSENT_MAX_OPEN_PROPOSALS": "undecided proposals in all",
        "ASSENT_LEASE_SECONDS": "after this long a half-done step counts as crashed and is finished by `recover`",
        "ASSENT_CONVERSATION_DAYS": "messages of conversations are deleted after this many days; `0` keeps them",
    },
    "What agents are given": {
        "MEMORIES_ENABLED": "notes: switched off, agents find none in their context (`GET …/context/`), and the "
        "tools for them, `memory_search` among them, and the `memory` command refuse. Blocks stay, and so do the "
        "pages on which people see what was kept",
        "MEMORIES_INJECT": "`auto`: notes and skill; `manual`: the skill alone, agents ask for notes; `none`: neither",
        "MEMORIES_BUDGET": "tokens of notes in a context, about; `0` for no limit",
        "MEMORIES_BLOCKS_BUDGET": "tokens of blocks in a context, about; `0` for no limit. Those that do not fit are "
        "named, and read by tool; `?budget=` holds for all that is sent",
        "MEMORIES_FILTER_TYPES": "only notes of these types",
        "MEMORIES_FILTER_TAGS": "only notes with one of these tags",
        "MEMORIES_FILTER_RECENT": "only notes of the last so many days; `0` for all",
        "MEMORIES_SKILL_INJECTION": "put the skill (how to use notes) into the context",
        "ASSENT_ANSWER_BUDGET": "characters of a tool's answer, unless the call gives `max_characters`: notes and "
        "lines beyond it are left out whole, and the answer says how to get them. At least the size of your blocks, "
        "or agents read these in parts",
    },
    "Search": {
        "ASSENT_EMBEDDER": "vectors for search: `wordllama` (offline), `openai` (any service with that "
        "API) or `none`; changing it reindexes",
        "ASSENT_EMBEDDER_MODEL": "the model, for `openai`",
        "ASSENT_EMBEDDER_URL": "address of the `openai` service, up to and with `/v1`",
        "ASSENT_EMBEDDER_KEY": "its key",
        "ASSENT_EMBEDDER_DIMENSIONS": "length of its vectors",
        "ASSENT_COSINE_FLOOR": "how alike in meaning a hit must be that shares no word with the query",
        "ASSENT_SEARCH_MEMORY_MB": "memory for search indices in each process",
    },
    "Limits": {
        "ASSENT_REQUEST_LIMIT": "bytes of an API request",
        "ASSENT_RATE_LIMIT": "API calls a minute for each token",
        "ASSENT_SIGN_IN_LIMIT": "sign-in attempts in 15 minutes for a name and address; ten times as many for an "
        "address",
        "ASSENT_TOOL_TIMEOUT": "seconds after which any tool call is answered 504, where the tool does not declare "
        "fewer; `0`: what it declares. It holds for imports too, which have 600",
        "ASSENT_PAGE_TIMEOUT": "seconds a page may wait for its databases; then it says 503. Files of notes may take "
        "longer",
        "ASSENT_WEBHOOK_ALLOWED_NETWORKS": "private networks that webhooks may be sent to, also by http, as "
        "`10.1.0.0/16,192.168.7.20`; addresses of all others are refused. Whoever may make a webhook "
        "can then reach these",
        "ASSENT_WEBHOOK_DELIVERY_DAYS": "the log of what was sent to webhooks is deleted after this many days; `0` "
        "keeps it",
        "ASSENT_IDEMPOTENCY_HOURS": "how long the answer to an idempotency key is kept",
        "ASSENT_TOOL_CALL_DAYS": "the audit's rows about tool calls are deleted after this many days; `0` keeps them",
    },
    "Web server and log": {
        "ASSENT_BIND": "address the web server listens on: `host:port` or `unix:/path`",
        "ASSENT_WORKERS": "processes of the web server",
        "ASSENT_THREADS": "threads in each of them; at most a third holds agents that wait for a decision",
        "ASSENT_READ_TIMEOUT": "seconds without a byte after which a client is dropped that has not sent all of its "
        "request, or does not read its answer",
        "ASSENT_LOG_LEVEL": "level of the structured log on stderr",
        "ASSENT_LOG_FORMAT": "form of the log",
    },
}

#: Defaults that depend on the machine or on another setting.
DEFAULTS = {
    "ASSENT_DATA_DIR": "`var`",
    "ASSENT_HSTS_SECONDS": "`86400` with `https://…`, else `0`",
    "ASSENT_SSL_REDIRECT": "on with `https://…`",
    "ASSENT_EMAIL_URL": "`consolemail://`",
    "MEMORY_DATABASE_URL": "DoltLite file",
    "DATABASE_URL": "SQLite file",
    "ASSENT_MAX_OPEN_PROPOSALS": "`2000` embedded, `20000` with a server",
    "ASSENT_LOG_FORMAT": "`console` on a terminal, else `json`",
}


def page(readings: Mapping[str, Reading]) -> str:
    """Return the whole page, in Markdown.

    Args:
        readings: `Environment.readings` after the settings were read.

    Raises:
        KeyError: a setting has a meaning and is not read.
    """
    parts = [_HEAD.strip()]
    for subject, meanings in MEANINGS.items():
        rows = [_row(name, readings[name], meaning) for name, meaning in meanings.items()]
        parts.append(_section(subject, ("setting", "default", "allowed", "meaning"), rows))
    elsewhere = [(f"`{name}`", meaning) for name, meaning in READ_ELSEWHERE.items()]
    parts.append(_section("Read outside the program", ("variable", "who reads it, and for what"), elsewhere))
    return "\n\n".join(parts) + "\n"


def _row(name: str, reading: Reading, meaning: str) -> tuple[str, ...]:
    default = DEFAULTS.get(name) or (f"`{reading.default}`" if reading.default else "–")
    return (f"`{name}`" + (" ⤷" if reading.is_secret else ""), default, reading.allowed.removeprefix("of "), meaning)


def _section(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return f"## {title}\n\n" + "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
