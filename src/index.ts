// What a program gets that imports the package.
export { buildSessionKey, isShared, parseSessionKey } from './sessions/key.js'
export type { ChatType, SessionKey, SessionKeyOptions, SessionSource, SourceId } from './sessions/key.js'
