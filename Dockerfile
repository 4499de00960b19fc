# Delta Table Explorer for a team: the pages of the tables in /lake, read-only.
#
#   docker build --tag delta-explorer .
#   docker run --publish 127.0.0.1:5007:5007 --volume /data/lake:/lake:ro delta-explorer
#
# Pin the base by its digest for a build that can be repeated: --build-arg BASE=python:3.11-slim-bookworm@sha256:...
# Nothing secret belongs in an image: give passwords, keys, and credentials when the container starts.
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS build
WORKDIR /source
COPY pyproject.toml hatch_build.py constraints.txt README.md CHANGELOG.md LICENSE ./
COPY explorer explorer
RUN python -m venv /opt/explorer \
    && /opt/explorer/bin/python -m pip install --no-cache-dir --constraint constraints.txt ".[spark,web,sign]"

FROM ${BASE}
# Spark needs Java to read rows; pages of the log, and first rows, do without it. Debian fixes the version.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless procps \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --system --create-home --uid 10001 --user-group explorer \
    && install --directory --owner explorer --group explorer /lake
COPY --from=build /opt/explorer /opt/explorer
ENV PATH=/opt/explorer/bin:$PATH \
    PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /home/explorer
EXPOSE 5007
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:5007/healthz', timeout=4)"]
ENTRYPOINT ["delta-explorer"]
CMD ["serve", "/lake", "--address", "0.0.0.0", "--port", "5007"]
