# One image for every process: `serve`, `worker ROLE`, and the commands of an operator.
#   docker build -t graphtide:0.1.0 .
#   docker run -e GRAPHTIDE_ALLOW_UNAUTHENTICATED=true -p 127.0.0.1:8080:8080 -v graphtide:/var/lib/graphtide graphtide:0.1.0
FROM python:3.11.14-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
RUN python -m venv /opt/graphtide
WORKDIR /src
# The packages first: they change rarely, so their layer stays cached.
COPY requirements-image.lock pyproject.toml setup.py README.md LICENSE MANIFEST.in ./
RUN /opt/graphtide/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements-image.lock
COPY src src
COPY graph graph
COPY streams streams
COPY infra infra
COPY services services
RUN /opt/graphtide/bin/pip wheel --no-cache-dir --disable-pip-version-check --no-deps --wheel-dir dist . \
 && /opt/graphtide/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps dist/*.whl \
 && cd / && /opt/graphtide/bin/python -c "import graphtide.graph" \
 && rm -rf /opt/graphtide/lib/python3.11/site-packages/pip /opt/graphtide/bin/pip* \
 && find /opt/graphtide/lib -type d -name tests -prune -exec rm -rf {} +

FROM python:3.11.14-slim-bookworm
LABEL org.opencontainers.image.title="Graphtide" org.opencontainers.image.licenses="Apache-2.0"
# Packages of the image may be compiled with OpenMP; NetworKit includes its own copy of it.
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 graphtide && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin graphtide \
 && install -d -o graphtide -g graphtide /var/lib/graphtide
COPY --from=build /opt/graphtide /opt/graphtide
# In a container the loopback address is reachable from nowhere else: `docker run -p` decides who reaches the service,
# which refuses to start without credentials unless GRAPHTIDE_ALLOW_UNAUTHENTICATED is true.
ENV PATH=/opt/graphtide/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    GRAPHTIDE_DATA=/var/lib/graphtide GRAPHTIDE_HOST=0.0.0.0
USER 10001:10001
WORKDIR /var/lib/graphtide
VOLUME /var/lib/graphtide
EXPOSE 8080 50051 9464
ENTRYPOINT ["graphtide"]
CMD ["serve"]
