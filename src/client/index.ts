// The client: `import { Holdpoint } from 'holdpoint/client'`.
export type * from './api.js'
export type { Json, JsonObject } from './json.js'
export { Aborted, HoldpointError, Invalid, Refused, Unreachable, type ProblemBody } from './errors.js'
export type { Answer, Call, QueryValue, StreamedAnswer } from './http.js'
export { Operator } from './operator.js'
export type { Approving, Denying, Following, Listing, OperatorOptions } from './operator.js'
