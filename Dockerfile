# One image for all of Berthmaster's processes: docker run IMAGE scheduler --help
ARG BASE_IMAGE=python:3.13-slim

FROM ${BASE_IMAGE} AS build
COPY locks/run.txt /locks/
RUN python3 -m venv /opt/berthmaster \
 && /opt/berthmaster/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r /locks/run.txt \
 && /opt/berthmaster/bin/pip uninstall --yes pip
COPY berthmaster/ /opt/berthmaster/app/berthmaster/
COPY scheduler_svc/ /opt/berthmaster/app/scheduler_svc/
COPY node_agent/ /opt/berthmaster/app/node_agent/
COPY kubeio/ /opt/berthmaster/app/kubeio/
RUN /opt/berthmaster/bin/python -m compileall -q /opt/berthmaster/app

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="Berthmaster" \
      org.opencontainers.image.description="A Kubernetes scheduler in Python" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/berthmaster /opt/berthmaster
ENV PYTHONPATH=/opt/berthmaster/app PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
ENTRYPOINT ["/opt/berthmaster/bin/python", "-m", "berthmaster"]
