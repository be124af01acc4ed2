// The message that tells of many, as far as it is text alone; its pace is in flood.test.ts.
import t from 'tap'
import { alarmFactsOf } from '../../src/notify/alarm-text.js'
import { collectedText } from '../../src/notify/collected.js'

t.test('what looks like a secret is masked where many are told of, and in alarms', (t) => {
  const names = { action: 'run --token hunter2hunter2', requester: 'bot password=hunter2hunter2' }
  const one = { id: '019b7765-1c80-7d3f-9a51-000000000001', ...names }
  const { lines } = collectedText([one as never], { url: 'https://example.com/', isPublic: true })
  t.same(
    lines[1]!.flatMap((part) => ('theirs' in part ? [part.theirs] : [])),
    ['run --token [masked]', 'bot password=[masked]'],
  )
  const alarm = {
    kind: 'session_suspended',
    requester: names.requester,
    sessionKey: 's token=hunter2hunter2',
    reason: 'Denied three times: password=hunter2hunter2',
    command: 'holdpoint sessions resume',
    request: 'POST /sessions',
    createdAt: 0,
  }
  t.match(alarmFactsOf(alarm as never, { name: 200, reason: 200, next: 200 }), {
    requester: 'bot password=[masked]',
    sessionKey: 's token=[masked]',
    reason: 'Denied three times: password=[masked]',
    command: 'holdpoint sessions resume',
  })
  t.end()
})
