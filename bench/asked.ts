// What people's agents ask for: a hundred actions in fifty sessions, each request with details of its own.
export const actionCount = 100
export const sessionCount = 50

const verbs = ['deploy', 'send', 'refund', 'delete', 'transfer', 'publish', 'order', 'invite', 'rotate', 'archive']
const things = ['service', 'mail', 'order', 'backup', 'funds', 'page', 'stock', 'member', 'secret', 'report']

export function actionOf(n: number): string {
  return `${verbs[n % verbs.length]}_${things[Math.floor(n / verbs.length) % things.length]}`
}

export function sessionOf(n: number): string {
  return `agent:main:telegram:group:${n % sessionCount}:1`
}

export function askedOf(n: number) {
  return {
    action: actionOf(n % actionCount),
    description: `Build ${n} of the billing service goes to the production cluster eu-1`,
    details: { build: n, cluster: 'eu-1', services: ['api', 'worker'] },
    requester: 'ci-agent',
    session_key: sessionOf(Math.floor(n / actionCount)),
  }
}

/** Every action in every session once, to be sent in any order. */
export function askedBodies(): string[] {
  return Array.from({ length: actionCount * sessionCount }, (_, n) => JSON.stringify(askedOf(n)))
}
