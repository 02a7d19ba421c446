# One image for all of Berthmaster's processes: docker run IMAGE scheduler --help
#
#   docker build -t berthmaster:dev .        where containers reach a package index
#   python -m deploy.image build             anywhere: wheels and, if need be, the base come from here
#
# Arguments: BASE_IMAGE, any with Python 3.11 or later and its venv module; PIP_INDEX_URL, another
# index; VERSION, REVISION and SOURCE for the labels.
ARG BASE_IMAGE=python:3.13-slim

FROM ${BASE_IMAGE} AS build
WORKDIR /build
RUN python3 -m venv /build/venv \
 && python3 -m venv --without-pip /opt/berthmaster
ENV PIP_NO_CACHE_DIR=1 PIP_NO_COMPILE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore \
    PIP_ONLY_BINARY=:all: PIP_REQUIRE_HASHES=1 PIP_FIND_LINKS=/build/wheels
# deploy.image puts the locked wheels into the context and says PIP_NO_INDEX=1. The brackets make a
# pattern of the name, which may match nothing.
COPY locks/build.txt locks/run.txt .state/image/wheel[s] /build/wheels/
ARG PIP_INDEX_URL
ARG PIP_NO_INDEX
RUN /build/venv/bin/pip --python /opt/berthmaster/bin/python install -r /build/wheels/run.txt \
 && /build/venv/bin/pip install -r /build/wheels/build.txt
COPY pyproject.toml README.md LICENSE /build/source/
COPY berthmaster/ /build/source/berthmaster/
COPY scheduler_svc/ /build/source/scheduler_svc/
COPY node_agent/ /build/source/node_agent/
COPY kubeio/ /build/source/kubeio/
# The checkout itself has no hash to require.
RUN export PIP_REQUIRE_HASHES=0 PIP_ONLY_BINARY=:none: \
 && /build/venv/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /build/own /build/source \
 && /build/venv/bin/pip --python /opt/berthmaster/bin/python install --no-deps /build/own/*.whl
# A read-only file system can't keep bytecode: it is made here, for what stays.
COPY deploy/image/trim.py /build/
RUN /opt/berthmaster/bin/python /build/trim.py

FROM ${BASE_IMAGE}
# The base's own installer, as Debian packages it or as Python's image has it.
RUN packages="$(dpkg-query --show --showformat '${Package} ' 'python3*-venv' 'python3-*-whl' 2>/dev/null || true)" \
 && if [ -n "${packages}" ]; then dpkg --purge ${packages}; fi \
 && if python3 -c 'import pip' 2>/dev/null; then python3 -m pip uninstall --yes pip; fi \
 && rm -rf "$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')/ensurepip"
COPY --from=build /opt/berthmaster /opt/berthmaster
ENV PATH=/opt/berthmaster/bin:${PATH} PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
ENTRYPOINT ["berthmaster"]
ARG BASE_IMAGE
ARG VERSION
ARG REVISION
ARG SOURCE
LABEL org.opencontainers.image.title="Berthmaster" \
      org.opencontainers.image.base.name="${BASE_IMAGE}" \
      org.opencontainers.image.description="A Kubernetes scheduler in Python" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}"
