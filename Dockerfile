# Picklock and a Redis server, run as an unprivileged user. The build context must contain a program for each
# architecture: picklock-amd64, picklock-arm64.
#
#   docker build --build-arg TARGETARCH=amd64 --file Dockerfile --tag picklock FOLDER
#   docker run --rm picklock scenario gc-pause --impl redlock
ARG BASE=debian:bookworm-slim
FROM ${BASE}
RUN apt-get update \
    && apt-get install --yes --no-install-recommends redis-server \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home picklock
ARG TARGETARCH
COPY picklock-${TARGETARCH} /usr/local/bin/picklock
USER picklock
WORKDIR /home/picklock
ENTRYPOINT ["picklock"]
CMD ["--help"]
