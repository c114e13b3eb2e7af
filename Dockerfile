# stark-translate in a container: `docker build -t stark-translate .`, then docs/MACHINE.md#in-a-container.
ARG BASE=docker.io/library/debian:bookworm-slim

FROM ${BASE} AS build
RUN apt-get update \
  && apt-get install -y --no-install-recommends python3-venv \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /src
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
COPY requirements.lock requirements-build.lock requirements-dev.lock ./
COPY wheels wheels
# Everything by its hash; llama.cpp from wheels, so that nothing is compiled. nats-py is for relays.
RUN sed -n '/^nats-py==/,/[^\\]$/p' requirements-dev.lock > publish.lock \
  && python3 -m venv /opt/stark-translate \
  && python3 -m venv /opt/build \
  && /opt/build/bin/pip install --quiet --require-hashes --no-deps -r requirements-build.lock \
  && /opt/stark-translate/bin/pip install --quiet --require-hashes --no-deps --only-binary :all: \
    --find-links wheels/index.html -r requirements.lock -r publish.lock
COPY . .
RUN /opt/build/bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir made . \
  && /opt/stark-translate/bin/pip install --quiet --no-deps --no-index made/*.whl

FROM ${BASE}
RUN apt-get update \
  && apt-get install -y --no-install-recommends python3 libportaudio2 \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --system --create-home --home-dir /data --groups audio stark-translate
COPY --from=build /opt/stark-translate /opt/stark-translate
ENV PATH=/opt/stark-translate/bin:$PATH PYTHONUNBUFFERED=1
# config.toml, sessions, models and the operator's token.
ENV HOME=/data XDG_DATA_HOME=/data XDG_CACHE_HOME=/data/cache
WORKDIR /data
VOLUME /data
USER stark-translate
EXPOSE 8765
HEALTHCHECK --start-period=2m --interval=30s --timeout=5s CMD ["python3", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8765/healthz', timeout=4)"]
ENTRYPOINT ["stark-translate"]
CMD ["run", "--host", "0.0.0.0"]
