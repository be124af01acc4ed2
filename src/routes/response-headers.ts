// The headers that not every answer has, as openapi.yaml tells them. A route names those of its answers, and a problem's row
// those of the problem.

export const responseHeaders = {
  Allow: { description: 'The methods that this path takes.', schema: { type: 'string' } },
  'Confirmation-Id': { description: 'The confirmation that it is about.', schema: { type: 'string' } },
  'Content-Disposition': { description: 'The name of the file to save it in.', schema: { type: 'string' } },
  'Idempotency-Replayed': {
    description: 'There if this was asked before with the same `Idempotency-Key`, so that nothing was done again.',
    schema: { type: 'string', const: 'true' },
  },
  'Preference-Applied': {
    description: 'There if `Prefer` was followed: `wait=SECONDS`, clamped as the query parameter is.',
    schema: { type: 'string' },
  },
  RateLimit: {
    description:
      'How many confirmations of this action are left (`r`), and in how many seconds there is one more (`t`): `"action";r=9;t=3600`. ' +
      'Not told to whoever has a key.',
    schema: { type: 'string' },
  },
  'RateLimit-Policy': {
    description:
      'How many confirmations of this action there may be (`q`) in so many seconds (`w`): `"action";q=10;w=3600`.',
    schema: { type: 'string' },
  },
  'Retry-After': { description: 'In how many seconds to try again.', schema: { type: 'integer', minimum: 1 } },
  'X-Request-ID': {
    description: 'Which request this answers, as a UUID; in errors and in the log, too.',
    schema: { type: 'string', format: 'uuid' },
  },
  'WWW-Authenticate': { description: 'That a key is asked for, as a bearer token.', schema: { type: 'string' } },
}

export type ResponseHeader = keyof typeof responseHeaders

export const responseHeaderNames = Object.keys(responseHeaders) as ResponseHeader[]
