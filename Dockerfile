# The server edition: web, worker, beat and migrate of docker-compose.yml are this one image.
# It also runs by itself with everything embedded under /data (DoltLite and SQLite), as one container.

FROM python:3.13.7-slim-bookworm AS build
# mysqlclient is compiled; the compiler stays behind in this stage.
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc libc6-dev libmariadb-dev pkg-config \
 && rm -rf /var/lib/apt/lists/*
RUN python -m venv /opt/assent
COPY locks/server.txt /tmp/server.txt
RUN /opt/assent/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes --no-deps -r /tmp/server.txt

FROM python:3.13.7-slim-bookworm
# `manage.py backup` calls pg_dump, which must not be older than the server; Debian's own is. The script comes with the
# package and adds PostgreSQL's packages for this release of Debian.
RUN apt-get update \
 && apt-get install -y --no-install-recommends libmariadb3 postgresql-common ca-certificates \
 && /usr/share/postgresql-common/pgdg/apt.postgresql.org.sh -y \
 && apt-get install -y --no-install-recommends postgresql-client-17 \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --system --gid 10001 assent \
 && useradd --system --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin assent \
 && install -d -o assent -g assent /data /erased
COPY --from=build /opt/assent /opt/assent
WORKDIR /app
COPY manage.py ./
COPY memory_app memory_app
COPY approvals approvals
COPY agent_tools agent_tools
# The texts that server and client share, and the `memory` command: `python -m agent_tools.cli`.
COPY clients/python/assent_client assent_client
COPY templates templates
COPY locale locale
COPY static static
COPY deploy/healthcheck.py deploy/
ENV PATH=/opt/assent/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    ASSENT_BIND=0.0.0.0:8000 \
    ASSENT_DATA_DIR=/data \
    ASSENT_LOG_FORMAT=json
# The key and the folder are for this step only; neither is kept.
RUN ASSENT_SECRET_KEY=$(python -c 'import secrets; print(secrets.token_hex())') ASSENT_DATA_DIR=/tmp/collectstatic python manage.py collectstatic --noinput \
 && rm -rf /tmp/collectstatic
# By number: Kubernetes' `runAsNonRoot` does not know whether a name is root's.
USER 10001:10001
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s --retries=3 CMD ["python", "deploy/healthcheck.py"]
CMD ["python", "-m", "memory_app.webserver"]
