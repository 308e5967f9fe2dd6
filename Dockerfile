# One image for every process: SERVICES says which service folders it runs, all of them by default. Node runs the
# TypeScript as it stands, so there is nothing to build.
FROM node:24.21.0-slim

WORKDIR /app

# Not `npm ci`: it refuses a lock file that lacks the binaries of development tools for other platforms. Versions and
# checksums are the lock file's all the same. The optional packages are the embedded PostgreSQL and Node.js itself.
COPY package.json package-lock.json .npmrc ./
RUN npm install --omit=dev --omit=optional --no-save && npm cache clean --force

COPY moleculer.config.ts ./
COPY migrations migrations
COPY mixins mixins
COPY services services
COPY host host
COPY operators operators

# With a name and a home, which libraries ask for. A volume mounted at the home takes over its owner.
RUN groupadd --gid 10001 records \
  && useradd --uid 10001 --gid 10001 --home-dir /var/lib/records --create-home --shell /usr/sbin/nologin records \
  && chmod 0700 /var/lib/records

ENV NODE_ENV=production HEALTH_PORT=3001 DATA_DIR=/var/lib/records
EXPOSE 3000 3001
USER 10001:10001

HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.HEALTH_PORT}/livez`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]

# Not by npm, which would not pass SIGTERM on.
CMD ["node", "--min-semi-space-size=16", "host/start.ts"]
