# An image that has only one program and the certificate authorities. make image makes the
# same without Docker.
#
#	docker build -t snowkey .
#	docker run --read-only --user "$(id -u)" -p 8080:8080 -v "$PWD/tokens.txt:/tokens.txt:ro" \
#		-e SNOWKEY_DSN=postgres://… -e SNOWKEY_ADDR=0.0.0.0:8080 -e SNOWKEY_TOKEN_FILE=/tokens.txt snowkey serve
#
#	docker build --build-arg PROGRAM=./examples/production -t shop .
FROM golang:1.26 AS build
ARG PROGRAM=./cmd/snowkey
WORKDIR /src
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /program $PROGRAM

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /program /program
USER 65532:65532
EXPOSE 8080 9090
ENTRYPOINT ["/program"]
