# Builds the program. Nothing is compiled to machine code: better-sqlite3 comes with its binary.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No package needs a script to be installed, so none gets to run one.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.src.json tsconfig.types.json ./
COPY scripts/build.js ./scripts/
COPY src ./src
RUN npm run build && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

# Runs it: production dependencies and compiled source, nothing else. The same image, so the binary fits.
FROM node:24-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production
# Other containers and published ports come in through 0.0.0.0. Beyond loopback Holdpoint is never open: the first start
# makes an admin key and prints it once. Read it with: docker logs NAME | grep -o 'hpk_[0-9a-f_]*'
ENV CONFIRMATION_HOST=0.0.0.0 \
    CONFIRMATION_DB_PATH=/data/confirmation_audit.db
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist/src ./dist/src
COPY package.json openapi.yaml LICENSE ./
COPY presets ./presets
# The link, so that what the log advises works: docker exec NAME holdpoint keys add …
RUN ln -s /app/dist/src/server.js /usr/local/bin/holdpoint && \
    install --directory --owner=node --group=node --mode=0700 /data
USER node
VOLUME /data
EXPOSE 6000 6001
# Not fetch: it refuses port 6000.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
  CMD ["node", "-e", "require('node:http').get('http://127.0.0.1:6000/health', (r) => process.exit(r.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
# Node is process 1 and handles SIGTERM itself; it needs less than ten seconds to drain.
ENTRYPOINT ["node", "/usr/local/bin/holdpoint"]
