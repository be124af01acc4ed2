// A submission for tests, to be changed where the test is about a field.
import type { Submission } from '../src/core/model.js'

export function submissionOf(fields: Partial<Submission> = {}): Submission {
  return {
    action: 'send_mail',
    description: 'd',
    details: '{}',
    requester: 'bot',
    sessionKey: '',
    timeoutSeconds: 30,
    callbackUrl: null,
    requestedAs: null,
    onBehalfOf: null,
    aap: null,
    ...fields,
  }
}
