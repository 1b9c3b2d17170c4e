# The program in a small image, as a user without rights.
#
#     docker build -t pagesieve .
#     docker run --rm -v "$PWD:/data" --user "$(id -u)" pagesieve crawl https://docs.example.org/ --contact you@example.org
#     docker run -d -p 127.0.0.1:8040:8040 -e PAGESIEVE_TOKEN=secret -v seen:/data pagesieve \
#         serve --listen 0.0.0.0:8040 --state seen.sqlite
FROM rust:1.95-slim-trixie AS build
WORKDIR /src
COPY . .
RUN cargo build --locked --release --bin pagesieve

FROM debian:trixie-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --no-create-home --home-dir /data pagesieve \
    && install -d -o pagesieve /data
COPY --from=build /src/target/release/pagesieve /usr/local/bin/
COPY --from=build /src/LICENSE-APACHE /src/LICENSE-MIT /src/src/cli/demo/NOTICES.md /usr/local/share/doc/pagesieve/
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8040
STOPSIGNAL SIGTERM
# Of `serve`, on its default port. For other commands: `docker run --no-healthcheck`.
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["bash", "-c", \
    "exec 3<>/dev/tcp/127.0.0.1/8040 && printf 'GET /livez HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && head -n 1 <&3 | grep -q ' 200 '"]
ENTRYPOINT ["pagesieve"]
CMD ["--help"]
