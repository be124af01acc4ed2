// What the pages say, and what no text of others can make them say.
import { Script } from 'node:vm'
import fc from 'fast-check'
import t from 'tap'
import { system } from '../../src/core/actor.js'
import { shortDigest } from '../../src/core/digest.js'
import type { Approved, Confirmation, Execution, Remembered, Outcome, Terms } from '../../src/core/model.js'
import { recordedApproval } from '../../src/web/approvals.js'
import { assets } from '../../src/routes/pages/assets.js'
import { pageHeaders } from '../../src/web/headers.js'
import { confirmationPage } from '../../src/web/confirmation-page.js'
import { listPage } from '../../src/web/list-page.js'
import { messagePage } from '../../src/web/message.js'
import { signInPage } from '../../src/web/sign-in-page.js'
import { lengthInWords } from '../../src/web/time.js'
import { askedAt, denied, deploy, example, formOf, hostile, id, listOf, pageOf, resolved, vote } from './examples.js'
import { anyone, person } from '../actors.js'

const render = (confirmation: Confirmation, more = {}) => confirmationPage(pageOf(confirmation, more))
const frame = { isOpen: false, viewer: 'maria', signOut: { action: '/logout', csrf: 'token' } }

/** Hidden characters as the pages mark them, and as nothing else can. */
const codePoints =
  /<mark(?: title="[A-Za-z -]+")?>((?:U\+[0-9A-F]{4,6}(?:, )?)+(?: ×[\d,]+)?|[\d,]+ × \([U+0-9A-F, ]+\)|[\d,]+ (?:line breaks|spaces?)[^<]*|[\d,]+ hidden, shown as \ufffd:)<\/mark>/g

/** What stands around runs from right to left, at line breaks, before long texts and after what is cut. */
const ours =
  /<i><\/i>|<bdi>|(?<=<bdi>[^<]*)<\/bdi>|<span class="length">[\d,a-z …]+(; digest <code>[\da-f]{16}…<\/code>)?<\/span>/g

/** The words of a page as a reader sees them: no tags, one space for any white space, hidden characters in brackets. */
function wordsOf(page: string): string {
  const entities: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', '#39': "'" }
  return page
    .replace(/<(script|noscript|title)\b[\s\S]*?<\/\1>/g, '')
    .replace(codePoints, '[$1]')
    .replaceAll('<i></i>', '↵')
    .replace(/<(?!\/?(b|i|bdi|span|code|wbr|time)\b)[^>]*>/g, ' ')
    .replace(/<[^>]*>/g, '')
    .replace(/&(lt|gt|amp|quot|#39);/g, (_, name: string) => entities[name]!)
    .replace(/\s+/g, ' ')
}

/** Every tag, with the names of its attributes and with the values that give them power. */
function tagsOf(page: string): string[] {
  return [
    ...page
      .replace(codePoints, '')
      .replace(ours, '')
      .matchAll(/<[^>]*>/g),
  ].map(([tag]) => tag.replace(/\s+/g, ' ').replace(/ (value|data-[a-z]+|class)="[^"]*"/g, ' $1'))
}

t.test('the page says everything that is decided on', async (t) => {
  const words = wordsOf(render(deploy))
  for (const text of [
    'Waiting for a decision',
    'High risk',
    'deploy_production',
    '27 minutes 52 seconds left to decide, until 2026-03-12 14:32:10 UTC',
    'Release billing-api 4.18.0 to production.',
    '"service" "billing-api"',
    '"version" object of 3',
    '"rows" 2104377',
    '"regions" list of 2',
    '0 "eu-north-1"',
    '"reversible" false',
    '"notify" []',
    'Requester release-agent says it acts as Jonas (release manager), which is not verified',
    'Session release-2026-03-12',
    'Rule production changes, high risk',
    'Approvals needed 2, from different people 1 from platform (maria.lindqvist, tom.okafor) 1 from finance',
    'May decide maria.lindqvist, tom.okafor, ines.castro, paul.weber, but not whoever asked; ' +
      'approvals come only from platform, finance',
    'Asked 2026-03-12 14:02:10 UTC',
    `ID ${id}`,
    `Digest ${deploy.digest} SHA-256 over action, details, requester and session`,
    'Votes so far 1 of 2 approvals. Still needed: 1 from platform.',
    'Approved by ines.castro 2026-03-12 14:03:11 UTC, through Telegram Reason: Checked the numbering with the auditors.',
    'You are maria.lindqvist',
  ]) {
    t.ok(words.includes(text), text)
  }
  t.match(render(deploy), `<b>${shortDigest(deploy.digest)}</b>`, 'the digits that messages show stand out')
  t.match(render(deploy), '<time datetime="2026-03-12T14:32:10.000Z">')
  t.notMatch(words, 'This service is open')
})

t.test('while no key exists every page says that the service is open', async (t) => {
  const open = { isOpen: true, viewer: null, signOut: null }
  for (const page of [
    render(deploy, open),
    render(denied, open),
    listPage(listOf([], open)),
    signInPage({ csrf: '', next: '/', problem: null, isOpen: true }),
    messagePage({ ...open, title: 'Not found', text: 'There is no such page.' }),
  ]) {
    t.match(page, 'This service is open.</b> No key exists yet, so everyone on this machine can see and decide')
  }
})

const verdictsIn = (page: string) =>
  [...page.matchAll(/<input\s+type="radio"\s+id="choice-\w+"\s+name="verdict"\s+value="(\w+)"\s+required/g)].map(
    ([, verdict]) => verdict,
  )

t.test('the form offers what the rule allows, and nothing is chosen beforehand', async (t) => {
  const all = ['approve', 'approve_session', 'approve_always', 'deny']
  const cases: [Confirmation, string[]][] = [
    [example(), all],
    [example({ sessionKey: '' }), ['approve', 'approve_always', 'deny']],
    [example({}, { mayWhitelist: false }), ['approve', 'deny']],
    [example({}, { approvals: 2 }), ['approve', 'deny']],
  ]
  for (const [confirmation, verdicts] of cases) {
    const page = render(confirmation)
    t.same(verdictsIn(page), verdicts)
    t.notMatch(page, /\bchecked\b/)
    t.match(page, /<form method="post" action="\/page" id="decision-form"/)
    t.match(page, '<input type="hidden" name="csrf" value="token" />')
  }
})

const seats = [
  { group: 'security', count: 1, members: ['ann', 'bo', 'cleo'] },
  { group: 'operations', count: 2, members: ['cleo', 'dan', 'eve'] },
]
const seated = (...voters: string[]): Confirmation => ({
  ...example({}, { approvals: 3, seats, mustType: true, reasonFor: ['approve'] }),
  votes: voters.map((by) => vote(by)),
})

t.test('whoever may only deny is told why, and is asked for nothing that approving needs', async (t) => {
  const whyNotApprove = 'The rule <b> needs approvals from security.'
  const page = render(seated(), { decision: { form: formOf({ whyNotApprove, verdict: 'approve' }) } })
  t.same(verdictsIn(page), ['deny'])
  t.match(wordsOf(page), 'The rule <b> needs approvals from security. You can deny it.')
  t.notMatch(page, 'name="typed"')
  t.match(page, 'Reason <span class="need">(optional)</span>')
  t.notMatch(page, / checked/)
  const strict = example({}, { reasonFor: ['deny'] })
  t.match(render(strict, { decision: { form: formOf({ whyNotApprove }) } }), '<span class="need">(required)</span>')
})

t.test('where somebody cannot approve, there is a way to sign in', async (t) => {
  const signInUrl = '/login?next=%2Fview%2F1&"'
  const link = '<a href="/login?next=%2Fview%2F1&amp;&quot;">Sign in with a key of your own</a>'
  const why = 'This link has been used.'
  t.match(render(deploy, { signInUrl, decision: { why } }), link)
  t.match(render(deploy, { signInUrl, decision: { form: formOf({ whyNotApprove: why }) } }), link)
  for (const one of [
    render(deploy, { signInUrl }),
    render(denied, { signInUrl }),
    render(deploy, { decision: { why } }),
  ]) {
    t.notMatch(one, 'Sign in with')
  }
})

t.test('whoever can fill no seat any more is told so where they would approve', async (t) => {
  const effect = (confirmation: Confirmation, by: string) =>
    /Approve (.*?) ✕/.exec(wordsOf(render(confirmation, { decision: { form: formOf({ by: person(by) }) } })))![1]!
  const idle = /Yours would be recorded, but would not bring this further/
  t.match(effect(seated('ann'), 'bo'), idle)
  t.match(effect(seated('ann'), 'bo'), /Still needed: 2 from operations\./)
  t.match(effect(seated('ann'), 'dan'), /Yours is one of 3 approvals that are needed; 1 so far/)
  t.notMatch(effect(seated('ann'), 'cleo'), idle, 'who is in both groups takes the other seat')
  t.notMatch(effect(seated('cleo'), 'bo'), idle, 'or makes room')
  t.notMatch(effect(example({}, { approvals: 2 }), 'anybody'), idle)
})

t.test('the votes say which groups are still missing', async (t) => {
  const cases: [string[], string][] = [
    [[], '0 of 3 approvals. Nobody has voted. Still needed: 1 from security, 2 from operations.'],
    [['ann'], '1 of 3 approvals. Still needed: 2 from operations.'],
    [['ann', 'bo'], '1 of 3 approvals. Still needed: 2 from operations.'],
    [['dan', 'eve'], '2 of 3 approvals. Still needed: 1 from security.'],
    [['cleo', 'dan'], '2 of 3 approvals. Still needed: 1 from security or operations.'],
  ]
  for (const [voters, expected] of cases) t.match(wordsOf(render(seated(...voters))), `Votes so far ${expected}`)
  const over = resolved(seated('ann'), 'denied', 'dan')
  t.notMatch(wordsOf(render(over)), 'Still needed', 'once it is over nothing is')
  t.notMatch(wordsOf(render(example({}, { approvals: 2 }))), 'Still needed')
})

t.test('whoever has approved is told how far it is, until it is decided', async (t) => {
  const plain = (approvals: number, ...voters: string[]): Confirmation => ({
    ...example({}, { approvals }),
    votes: voters.map((by) => vote(by)),
  })
  const denier = { ...plain(2), votes: [vote('ann', { verdict: 'deny' })] }
  t.equal(
    recordedApproval(plain(2, 'ann'), person('ann')),
    'Your approval is recorded: 1 of 2. Somebody else must approve too.',
  )
  t.equal(
    recordedApproval(plain(3, 'ann'), person('ann')),
    'Your approval is recorded: 1 of 3. 2 others must approve too.',
  )
  t.match(recordedApproval(plain(2, 'page'), anyone('page')), /^An approval from this page is recorded: 1 of 2\. /)
  t.match(recordedApproval(seated('bo', 'ann'), person('ann')), /recorded: 1 of 3\. Still needed: 2 from operations\.$/)
  for (const of of [plain(2), plain(2, 'bo'), denier, resolved(plain(2, 'ann', 'bo'), 'approved', 'bo')])
    t.equal(recordedApproval(of, person('ann')), null)
})

t.test('whoever has nothing to decide here is led to the next one, or told that there is none', async (t) => {
  const next = { action: 'pay\u202e<b>', requester: `bot${'t'.repeat(100)}`, url: '/view/2?a&b' }
  const why = { decision: { why: 'You have decided this already.' } }
  for (const page of [render(denied, { next }), render(deploy, { next, ...why })]) {
    t.match(wordsOf(page), `Next: pay[U+202E]<b>, asked by bot${'t'.repeat(57)} … 43 more characters`)
    t.equal(page.split('href="/view/2?a&amp;b"').length - 1, 2, 'above, and where the form was')
  }
  t.match(wordsOf(render(denied, { next: 'nothing' })), 'Nothing else waits for you.')
  for (const page of [render(denied), render(deploy, why), render(deploy, { next })]) {
    t.notMatch(page, /class="next/, 'where nobody may know, or there is a form')
  }
})

t.test('what was entered is there again, and a verdict that is not offered is not', async (t) => {
  const form = formOf({ verdict: 'deny', reason: '\n</textarea><b>no', typed: '"><i>' })
  const page = render(example({}, { mustType: true }), { decision: { form } })
  t.match(page, /value="deny"\s+required checked/)
  t.equal([...page.matchAll(/ checked/g)].length, 1)
  t.match(page, />\n\n&lt;\/textarea&gt;&lt;b&gt;no<\/textarea>/)
  t.match(page, 'value="&quot;&gt;&lt;i&gt;"')
  const odd = formOf({ verdict: 'approve_session' })
  t.notMatch(render(example({ sessionKey: '' }), { decision: { form: odd } }), / checked/)
})

t.test('the form says for which verdict a reason is needed', async (t) => {
  const labels: [Terms['reasonFor'], string, boolean][] = [
    [[], '(optional)', false],
    [['deny'], '(required to deny)', false],
    [['approve'], '(required to approve)', false],
    [['approve', 'deny'], '(required)', true],
  ]
  for (const [reasonFor, label, isRequired] of labels) {
    const page = render(example({}, { reasonFor }))
    t.match(page, `Reason <span class="need">${label}</span>`)
    t.equal(/<textarea[^>]* required[ \n]/.test(page), isRequired, label)
  }
})

t.test('the name of the action is asked for where the rule wants it typed', async (t) => {
  t.match(render(example({}, { mustType: true })), 'To approve, type the name of the action')
  t.notMatch(render(example()), 'name="typed"')
})

t.test('who may not decide is told why, and gets no form', async (t) => {
  const page = render(deploy, { decision: { why: 'You asked for this, so somebody else must decide.' } })
  t.match(page, 'You asked for this, so somebody else must decide.')
  t.notMatch(page, 'decision-form')
  t.notMatch(page, 'name="verdict"')
})

t.test('a resolved confirmation says what stands, who did it, when and why', async (t) => {
  const two = { ...deploy, votes: [vote('ines'), vote('tom')] }
  const cases: [Confirmation, RegExp][] = [
    [denied, /Denied By paul\.weber at 2026-03-12 14:03:45 UTC, through the API\. .* Reason: This IBAN is not/],
    [
      resolved(example(), 'approved', 'alice'),
      /Approved By alice at .* Not begun yet\. It may begin until 2026-03-12 14:18:45/,
    ],
    [resolved(two, 'approved', 'tom'), /Approved By ines and tom at/],
    [resolved(example(), 'cancelled', 'newsletter-agent', 'typo'), /Cancelled By newsletter-agent at .* Reason: typo/],
    [
      resolved(example(), 'auto_approved', { kind: 'grant', id: 'g1' }),
      /Approved automatically By the whitelist entry with the ID g1 at .*\. Nobody was asked\./,
    ],
    [
      resolved(example(), 'auto_approved', { kind: 'rule', name: 'reading' }),
      /Approved automatically By the rule reading at .*\. Nobody was asked\./,
    ],
    [resolved(example(), 'expired', 'system:timeout'), /Expired At .* No decision came in time, so it is not approved/],
  ]
  for (const [confirmation, expected] of cases) {
    const page = render(confirmation)
    t.match(wordsOf(page), expected)
    t.notMatch(page, 'decision-form')
    t.notMatch(page, 'data-left', 'no time runs')
  }
})

t.test('what an approval also whitelists is said exactly, before and after, with how to take it back', async (t) => {
  const requester = 'newsletter-agent'
  const session = { scope: 'session', requester, expiresAt: null, isExact: false } as const
  const always = { ...session, scope: 'global' } as const
  const cases: [Remembered, boolean | null, string][] = [
    [
      session,
      true,
      'every send_newsletter that newsletter-agent asks for in session march-campaign, whatever its details, until it is revoked',
    ],
    [
      { ...session, requester: null },
      false,
      'every send_newsletter in session march-campaign, whoever asks, whatever its details, until it is revoked',
    ],
    [
      { ...always, requester: null },
      null,
      'every send_newsletter, whoever asks, in whichever session, whatever its details, until it is revoked',
    ],
    [
      { ...always, expiresAt: askedAt + 3_600_000, isExact: true },
      null,
      'every send_newsletter that newsletter-agent asks for, in whichever session, with exactly these details, until 2026-03-12 15:02:10 UTC',
    ],
  ]
  for (const [remember, isVerified, what] of cases) {
    if (isVerified !== null) {
      const by = isVerified ? person('maria') : anyone('page')
      const form = wordsOf(render(example(), { decision: { form: formOf({ by }) } }))
      t.match(form, `This one, and from now on ${what}, without asking.`)
    }
    const votes = [vote('alice', { remember })]
    const after = wordsOf(render(resolved({ ...example(), votes }, 'approved', 'alice')))
    t.match(after, `alice also whitelisted ${what}. To take that back: GET /whitelist lists the entry with its ID, `)
    t.match(after, 'DELETE /whitelist/ID revokes it.')
  }
  const once = resolved({ ...example(), votes: [vote('alice')] }, 'approved', 'alice')
  t.notMatch(wordsOf(render(once)), 'whitelist')
})

t.test('always asks for how long, for whom and, where there are details, for which; nothing is chosen', async (t) => {
  const asksIn = (page: string) =>
    [...page.matchAll(/<legend>Always: (.*)\?<\/legend>/g)].map(([, question]) => question)
  const page = render(example())
  t.same(asksIn(page), ['for how long', 'for whom', 'with which details'])
  t.match(wordsOf(page), 'An hour A day A week Until somebody revokes it')
  t.match(wordsOf(page), 'Only when newsletter-agent asks Whoever asks')
  t.match(wordsOf(page), 'Only exactly these details, equal as a whole Whatever the details')
  t.same(asksIn(render(example({ details: '{}' }))), ['for how long', 'for whom'])
  t.same(asksIn(render(example({}, { mayWhitelist: false }))), [], 'and only where it may be chosen')
  t.notMatch(page, /class="problem"/)
  t.match(wordsOf(page), 'every send_newsletter, without asking. You choose for how long, and for whom, and with which')
  t.match(wordsOf(render(example({ details: '{}' }))), 'every send_newsletter, whatever its details, without asking.')
})

t.test('what was not answered is told beside it, and what was is kept', async (t) => {
  const form = formOf({ verdict: 'approve_always', whom: 'anyone', duration: 'century', reason: 'so' })
  const page = render(example(), { decision: { form } })
  t.match(page, /<fieldset aria-describedby="duration-problem">\s*<legend>Always: for how long/)
  t.same(
    [...page.matchAll(/id="(\w+)-problem"/g)].map(([, field]) => field),
    ['duration', 'details'],
  )
  t.match(page, /value="anyone"[^>]* checked/)
  t.equal([...page.matchAll(/ checked/g)].length, 2, 'the verdict is the other')
  const other = render(example(), { decision: { form: formOf({ verdict: 'deny' }) } })
  t.notMatch(other, /-problem/, 'nothing of that is asked of who denies')
})

t.test('an approval says what became of it', async (t) => {
  const states: [Execution['state'], RegExp][] = [
    ['unclaimed', /Not begun yet\./],
    ['lapsed', /Never begun: the approval was good until/],
    ['claimed', /Begun at .* A report is due by/],
    ['unreported', /no report came by .* Whether it was done is not known\./],
    ['succeeded', /Reported as done at .* all fine/],
    ['failed', /Reported as failed at .* all fine/],
  ]
  const done = resolved(example(), 'approved', 'alice') as Approved
  for (const [state, expected] of states) {
    const claimed = { claimBy: askedAt + 1, claimedAt: askedAt + 2, reportBy: askedAt + 3 }
    const reported = { ...claimed, reportedAt: askedAt + 4, message: 'all fine' }
    const execution = { state, ...(state === 'succeeded' || state === 'failed' ? reported : claimed) } as Execution
    t.match(wordsOf(render({ ...done, execution })), expected)
  }
})

t.test(
  'a word of success is said first, and a problem at the form, or where it was, which is then looked at',
  async (t) => {
    t.match(
      render(denied, { message: { kind: 'done', text: 'Sent.' } }),
      /class="notice done" role="status"[^]*<article/,
    )
    const problem = { kind: 'problem', text: 'A <reason> is needed.' } as const
    for (const of of [deploy, denied]) {
      const page = render(of, { message: problem })
      t.match(page, /id="decision"[^]*autofocus><div class="notice problem" role="alert"[^]*A &lt;reason&gt;/)
      t.equal([...page.matchAll(/autofocus/g)].length, 1)
      t.notMatch(render(of), 'autofocus')
    }
  },
)

t.test('what is wrong with a field is told beside it, the field says so, and it is looked at', async (t) => {
  const strict = example({}, { mustType: true, reasonFor: ['approve'] })
  for (const field of ['typed', 'reason'] as const) {
    const page = render(strict, { message: { kind: 'problem', text: 'Not <this>.', field } })
    const [tag] = new RegExp(`<(input|textarea)[^>]*id="${field}"[^>]*>`).exec(page)!
    t.match(tag, ` aria-invalid="true" aria-describedby="${field}-problem ${field}-hint" autofocus`)
    t.match(
      page,
      new RegExp(
        `<p class="field-problem" id="${field}-problem">[^]{0,200}Not &lt;this&gt;[^]{0,40}</p>\\s*${tag.slice(0, 5)}`,
      ),
    )
    t.equal([...page.matchAll(/aria-invalid/g)].length, 1)
    t.equal([...page.matchAll(/autofocus/g)].length, 1)
    t.notMatch(page, 'role="alert"', 'once is enough')
  }
})

t.test('where the form was stands how it ended, and what was written into it', async (t) => {
  const place = (page: string) => page.slice(page.indexOf('id="decision"'))
  const draft = { reason: '\n</textarea><b>', typed: '"><i>' }
  for (const of of [denied, resolved(example(), 'expired', 'system:timeout')]) {
    t.match(wordsOf(place(render(of))), of === denied ? /Outcome ✕ Denied By paul\.weber at/ : /Outcome – Expired At/)
    t.notMatch(place(render(of)), 'readonly', 'nothing was written')
    const page = place(render(of, { draft }))
    t.match(page, /<textarea id="reason"[^>]* readonly[^>]*>\n\n&lt;\/textarea&gt;&lt;b&gt;<\/textarea>/)
    t.match(page, /<input type="text" id="typed" value="&quot;&gt;&lt;i&gt;" readonly/)
    t.notMatch(page, /name="(reason|typed|verdict)"/, 'nothing of it can be sent')
  }
  const why = place(render(deploy, { decision: { why: 'Somebody else must.' }, draft }))
  t.match(why, /Somebody else must\.[^]*readonly/)
})

t.test('without a rule nothing is said about the risk but that nobody assessed it', async (t) => {
  for (const page of [render(example()), listPage(listOf([example()]))]) {
    t.match(wordsOf(page), 'Risk not assessed: no rule')
    t.notMatch(page, /normal risk/i)
  }
  t.match(wordsOf(render(example())), 'Rule none is about this action, so nobody has assessed its risk')
  for (const page of [render(example({}, { rule: 'mail' })), listPage(listOf([example({}, { rule: 'mail' })]))]) {
    t.match(wordsOf(page), 'Normal risk')
    t.notMatch(page, 'not assessed')
  }
})

t.test('for whom it says it acts is shown as its word', async (t) => {
  const named = example({ onBehalfOf: 'Ann\u202e <b>' })
  t.match(wordsOf(render(named)), 'On behalf of Ann[U+202E] <b> as the requester says, which is not verified')
  t.match(wordsOf(render(named)), 'SHA-256 over action, details, on whose behalf, requester and session.')
  t.match(wordsOf(listPage(listOf([named]))), 'asked by newsletter-agent on behalf of Ann[U+202E] <b>, not verified')
  t.notMatch(wordsOf(render(example())), /behalf/)
})

t.test('a name that an agent chose cannot pass for words of the page', async (t) => {
  const name = 'alice (verified) · asked by root'
  const asked = example({ requester: name, onBehalfOf: name })
  const remember = { scope: 'global', requester: name, expiresAt: null, isExact: false } as const
  const pages: [string, number][] = [
    [listPage(listOf([asked])), 2],
    // Among the facts twice; then for the session, and asked for always.
    [render(asked), 4],
    [render(resolved({ ...asked, votes: [vote('ann', { remember })] }, 'approved', 'ann')), 3],
  ]
  for (const [page, count] of pages) {
    t.equal(page.split(`<span class="verbatim"><bdi dir="ltr">${name}</bdi></span>`).length - 1, count)
    const shown = page.replace(/ data-requester="[^"]*"/, '')
    t.equal(shown.split(name).length - 1, count, 'and nowhere else')
  }
})

t.test('where somebody is named for whom it is done, what is whitelisted is so on whosever behalf', async (t) => {
  const words = wordsOf(render(example({ onBehalfOf: 'Ann' })))
  t.match(
    words,
    'every send_newsletter that newsletter-agent asks for in session march-campaign, on whosever behalf, whatever its details,',
  )
  t.match(words, 'from now on every send_newsletter, on whosever behalf, without asking. You choose for how long')
  t.match(
    wordsOf(render(example({ onBehalfOf: 'Ann', details: '{}' }))),
    'from now on every send_newsletter, on whosever behalf, whatever its details, without asking.',
  )
})

t.test('what is odd about a request stands above what it is about, and in the list in a few words', async (t) => {
  const warned = { ...example(), caution: { failures: 3, repeats: 5 } }
  const words = wordsOf(render(warned))
  const denied = '! Warning: In this session, 3 requests in a row were denied or expired.'
  const insisting = '! Warning: The same action was asked for 5 times in a row, each time with other'
  for (const sentence of [denied, insisting]) {
    t.match(words, sentence)
    t.ok(words.indexOf(sentence) < words.indexOf('Requester'), 'it is read first')
  }
  t.match(wordsOf(render(resolved(warned, 'approved', 'ann'))), denied, 'also when it is decided')
  t.match(wordsOf(listPage(listOf([warned]))), '! 3 denied or expired in a row ! Asked 5 times in a row asked by ')
  for (const page of [render(example()), listPage(listOf([example()]))]) t.notMatch(page, /class="[^"]*caution/)
})

t.test('the page says where whoever acts must present the digest', async (t) => {
  t.match(wordsOf(render(example({}, { needsDigest: true }))), 'session. Whoever acts must present it.')
  t.match(wordsOf(render(example({}, { needsDigest: true }))), ', which whoever acts must present.')
  t.notMatch(wordsOf(render(example())), 'must present')
})

t.test('the list shows what waits, next deadline first', async (t) => {
  const items = [
    { confirmation: example({ action: 'later', timeoutSeconds: 300 }), url: '/c/2?a=1&b' },
    { confirmation: { ...deploy, deadline: askedAt + 60_000 }, url: '/c/1' },
  ]
  const page = listPage(listOf([], { items, count: 2, moreUrl: '/?cursor=a&b' }))
  t.match(
    wordsOf(page),
    /deploy_production .* 1 minute left asked just now .* asked by release-agent · session [\w-]+ · 1 of 2 approvals later /,
  )
  t.match(page, 'href="/c/2?a=1&amp;b"')
  t.match(page, '<a href="/?cursor=a&amp;b">More that wait</a>')
  t.notMatch(page, 'From the start')
  const empty = listPage(listOf([]))
  for (const one of [page, empty])
    t.match(wordsOf(one), 'As of 2026-03-12 14:02:10 UTC. Reload to see what is new.', 'as it is without JavaScript')
  t.match(empty, 'Nothing waits for a person right now.')
  t.notMatch(empty, 'More that wait')
  const end = listPage(listOf([], { startUrl: '/' }))
  t.match(end, 'Nothing more waits right now.')
  t.match(end, '<a href="/">From the start</a>')
  t.notMatch(end, 'id="alerts"', 'what does not follow has no place for switches')
  t.match(listPage(listOf([], { follow: { url: '/list/state', mark: 'm' } })), 'id="alerts"')
})

t.test('title, icon and list say how many wait, on all pages together', async (t) => {
  for (const [count, title, icon, words] of [
    [0, 'Nothing waits', 'holdpoint', 'Nothing to decide.'],
    [1, '(1) Waiting', 'waiting-1', '1 waits, next deadline first.'],
    [9, '(9) Waiting', 'waiting-9', '9 wait, next deadline first.'],
    [1234, '(1,234) Waiting', 'waiting-many', '1,234 wait, next deadline first.'],
  ] as const) {
    const page = listPage(listOf([example()], { count, moreUrl: '/?cursor=a' }))
    t.match(page, `<title>${title} · Holdpoint</title>`)
    t.match(page, `<link rel="icon" href="/assets/${icon}.svg"`)
    t.ok(assets[`/assets/${icon}.svg`], 'there is such an icon')
    t.match(wordsOf(page), words)
  }
  t.match(assets['/assets/waiting-3.svg']?.body, />3<\/text>/)
  t.match(assets['/assets/waiting-many.svg']?.body, />9\+<\/text>/)
})

t.test('two requests of one action are told apart by age, first details and session', async (t) => {
  const one = example({ details: JSON.stringify({ list: 'news', note: 'x'.repeat(200) }), sessionKey: 'march\u202e' })
  const other = { ...example({ details: '{}', sessionKey: '' }), createdAt: askedAt - 150_000 }
  const words = wordsOf(listPage(listOf([one, other], { now: askedAt + 12_000 })))
  t.match(words, new RegExp(`{"list":"news","note":"x+ … and more; digest ${one.digest.slice(0, 16)}…`))
  t.notMatch(words, 'x'.repeat(160), 'only the first of them')
  t.match(words, 'asked 12 seconds ago')
  t.match(words, 'asked 2 minutes ago')
  t.match(words, '· session march[U+202E] ')
  t.equal(words.split('session').length - 1, 1, 'where there is none, none is named')
  t.notMatch(words, '{}')
  t.equal(words.split('digest').length - 1, 1, 'what is shown whole needs none')
  const large = wordsOf(listPage(listOf([{ ...one, details: '', description: '' }])))
  t.match(large, 'A long description, which its page shows. Large details, which its page shows; digest ')
  t.match(large, `digest ${one.digest.slice(0, 16)}…`)
})

t.test('what ended lately is on the list with how it ended and who did it', async (t) => {
  const two = { ...example(), votes: [vote('ann'), vote('paul')] }
  const ended = [
    resolved(example(), 'expired', system('timeout')),
    resolved(two, 'approved', 'paul'),
    resolved(example(), 'denied', 'p<b>'),
    resolved(example(), 'cancelled', 'bot'),
  ].map((confirmation) => ({ confirmation, url: '/c/1' }))
  const words = wordsOf(listPage(listOf([], { ended, now: askedAt + 3_695_000 })))
  for (const how of [
    'Expired: nobody decided in time',
    'Approved by paul and 1 other',
    'Denied by p<b>',
    'Cancelled by bot',
  ])
    t.match(
      words,
      `send_newsletter – ${how}`.replace('–', /Exp|Canc/.test(how) ? '–' : /App/.test(how) ? '✓' : '✕'),
      how,
    )
  t.match(words, 'ended 1 hour ago · asked by newsletter-agent · session march-campaign')
  t.notMatch(words, 'expired lately', 'which is an hour ago')
  t.notMatch(wordsOf(listPage(listOf([]))), 'Ended lately')

  const now = askedAt + 100_000
  t.match(listPage(listOf([], { ended, now })), '<a href="#ended-title">1 expired lately.</a>')
  t.notMatch(listPage(listOf([], { ended: ended.slice(1), now })), 'expired lately')
  t.match(wordsOf(listPage(listOf([], { ended: [ended[0]!, ended[0]!], now }))), 'Several expired lately.')
})

t.test('what a notification may say of a request is quoted, short and without anything hidden', async (t) => {
  const page = listPage(listOf([example({ action: `a"\u202e${'b'.repeat(500)}`, requester: 'root"\n' })]))
  const [, action, requester] = /data-action="([^"]*)" data-requester="([^"]*)"/.exec(page)!
  t.match(action, /^&quot;a\\&quot;\\u\{202e\}b+… \\\{cut: \d+ more characters\}&quot;$/)
  t.ok(action!.length < 110)
  t.equal(requester, '&quot;root\\&quot;\\n&quot;')
})

t.test('signing in asks for a key and remembers where to go on', async (t) => {
  const page = signInPage({ csrf: 'c', next: '/c/1?"', problem: 'That key is not known.', isOpen: false })
  t.match(page, '<form method="post" action="/login"')
  t.match(page, /type="password"\s+id="key"\s+name="key"\s+required\s+autocomplete="current-password"/)
  t.match(page, 'name="next" value="/c/1?&quot;"')
  t.match(page, /role="alert"[\s\S]*That key is not known\./)
  t.notMatch(page, '<a href="/c/1', 'there is no way around it')
})

t.test('the time left is in words of its two largest units', async (t) => {
  const cases: [number, string][] = [
    [-5, '0 seconds'],
    [0, '0 seconds'],
    [1, '1 second'],
    [61_000, '1 minute 1 second'],
    [3_600_000, '1 hour'],
    [3_605_000, '1 hour'],
    [90_061_000, '1 day 1 hour'],
  ]
  for (const [ms, words] of cases) t.equal(lengthInWords(ms), words)
})

// Each line: a text, and how it must look.
const inert: [string, string][] = [
  ['<script>alert(1)</script>', '<script>alert(1)</script>'],
  ['</details></ul></main>', '</details></ul></main>'],
  ['" onclick="x', '" onclick="x'],
  ["' autofocus onfocus='x", "' autofocus onfocus='x"],
  ['<!-- ', '<!--[1 space]'],
  [']]><![CDATA[', ']]><![CDATA['],
  ['&lt;b&gt; &#60; &amp;', '&lt;b&gt; &#60; &amp;'],
  ['</textarea></title><img src=x onerror=x>', '</textarea></title><img src=x onerror=x>'],
  ['a\u202eb', 'a[U+202E]b'],
  ['a\u2067b\u2069', 'a[U+2067]b[U+2069]'],
  ['a\u200bb\u200db', 'a[U+200B]b[U+200D]b'],
  ['a\u0000\u0008\u001b\u007f\u0085', 'a[U+0000][U+0008][U+001B][U+007F][U+0085]'],
  ['a\u2028b\u2029c\rd', 'a[U+2028]b[U+2029]c[U+000D]d'],
  ['a\ud800b', 'a[U+D800]b'],
  ['a\u{e0041}b\ufeff', 'a[U+E0041]b[U+FEFF]'],
  ['soft\u00adhyphen', 'soft[U+00AD]hyphen'],
  ['<\u200c&\u200d', '<[U+200C]&[U+200D]'],
  [`q${'\u0301'.repeat(10)}`, `q\u0301[U+0301 ×9]`],
  ['rm\u00a0-rf\u3000/', 'rm[U+00A0]-rf[U+3000]/'],
  ['a\ufffcb\ue000\u{1d159}\u{16fe4}\u{1107f}', 'a[U+FFFC]b[U+E000][U+1D159][U+16FE4][U+1107F]'],
  [`a${' '.repeat(120)}b`, 'a[120 spaces]b'],
  [`a\u200d${' '.repeat(120)}b`, 'a[U+200D][120 spaces]b'],
  [`a${'\n'.repeat(1480)}b`, 'a[1,480 line breaks]'],
  ['ends in two  ', 'ends in two[2 spaces]'],
  ['cafe\u0301', 'cafe[U+0301]'],
  ['a ↵ b', 'a [U+21B5] b'],
  ['U+202E', 'U+202E'],
  ['<mark>U+202E</mark>', '<mark>U+202E</mark>'],
  ['a\u007f\u007f\u007fb\u007f', 'a[U+007F ×3]b[U+007F]'],
  ['a\u200d\u200db', 'a[U+200D ×2]b'],
  ['\u{e0041}\u{e0041}\u{e0042}', '[U+E0041 ×2][U+E0042]'],
  ['\ud800\ud800\ud83d\udc4d', '[U+D800 ×2]\ud83d\udc4d'],
  ['×3', '×3'],
  ['می‌خواهم 👩‍👩‍👧', 'می‌خواهم 👩‍👩‍👧'],
]
t.test('hostile text is inert and its hidden characters are seen, in every place', async (t) => {
  for (const [text, looks] of inert) {
    const words = wordsOf(render(saying(text)))
    const count = words.split(looks).length - 1
    t.ok(count >= placesOf('x').length, `${looks} is seen ${count} times`)
  }
})

t.test('of very many hidden characters the first are written out, and the rest is seen and counted', async (t) => {
  const pair = 'a\u007fa\u200b'
  const enough = wordsOf(render(example({ description: pair.repeat(1000) })))
  t.match(enough, 'a[U+007F]a[U+200B]')
  t.notMatch(enough, '\ufffd')
  const over = wordsOf(render(example({ description: `${pair.repeat(1000)}a\u007f\u007fb\u200bc` })))
  t.match(over, '[3 hidden, shown as \ufffd:]')
  t.match(over, 'a\ufffd\ufffdb\ufffdc')
  t.match(wordsOf(render(example({ description: '\u007f'.repeat(60) }))), '[U+007F ×60]')
  const turns = wordsOf(render(example({ description: '\u007f\u200b'.repeat(60_000) })))
  t.match(turns, '[60,000 × (U+007F, U+200B)]', 'what repeats itself is one mark')

  const values = Array.from({ length: 300 }, () => pair.repeat(5))
  const details = wordsOf(render(example({ details: JSON.stringify({ values, end: `${pair}z` }) })))
  t.match(details, '199 "a[U+007F]', 'the details have their room together')
  t.match(details, `200 "[10 hidden, shown as \ufffd:]${'a\ufffd'.repeat(10)}"`)
  t.match(details, '"end" "[2 hidden, shown as \ufffd:]a\ufffda\ufffdz"')
})

t.test('no request of 1 MiB makes a page that is more than a few times as large', async (t) => {
  const worst = {
    'one hidden character': '\u007f',
    'hidden characters by turns': '\u007f\u0080',
    'hidden characters and letters': 'a\u007f',
    'hidden ones, letters and line breaks': '\u007f\n\u200b&',
    'gaps and letters': 'a\n\n\n\n',
    'lines of one letter': 'a\n',
    'letters from right to left, and others': 'אa',
    'spaces and letters': `${' '.repeat(99)}a`,
    'combining marks': '\u0301',
    'combining marks by turns': '\u0301\u0302',
    'what must be escaped': '&',
  }
  for (const [name, unit] of Object.entries(worst)) {
    const fill = (bytes: number) => unit.repeat(bytes / Buffer.byteLength(unit))
    const bytes = 1024 * 1024
    const values = Object.fromEntries(Array.from({ length: 9900 }, (_, index) => [`${index}`, fill(bytes / 9900)]))
    for (const [place, confirmation] of Object.entries({
      description: example({ description: fill(bytes) }),
      values: example({ details: JSON.stringify(values) }),
    })) {
      const size = Buffer.byteLength(render(confirmation))
      t.ok(size < 8 * bytes, `${name} as ${place}: ${(size / bytes).toFixed(1)} MiB`)
    }
  }
})

t.test('line breaks are kept and marked in prose, and shown in names', async (t) => {
  const page = render(example({ action: 'a\n\tb', description: 'one\n  two', requester: 'x\ny' }))
  t.match(page, '<bdi dir="ltr">one<i></i>\n  two</bdi>')
  t.match(wordsOf(page), 'a[U+000A][U+0009]b')
  t.match(wordsOf(page), 'Requester x[U+000A]y')
  const many = render(example({ description: 'a\n'.repeat(20_001) }))
  t.equal(many.split('<i></i>\n').length - 1, 20_000)
  t.match(
    many,
    'a<i></i>\na↵\n</bdi>',
    'of very many the rest have a mark that is only text, and that no text can have',
  )
})

t.test('a long gap is shown as how long it is, so that nothing after it is out of sight', async (t) => {
  const page = (text: string) => render(example({ description: text, details: JSON.stringify({ [text]: text }) }))
  const cases: [string, string, string?][] = [
    ['a\n\n\nb', 'a<i></i>\n<i></i>\n<i></i>\nb', 'a[U+000A][U+000A][U+000A]b'],
    ['a\n\n\n\nb', 'a<mark>4 line breaks</mark>\nb'],
    [`a${'\n'.repeat(5000)}  b`, 'a<mark>5,000 line breaks</mark>\n  b', 'a[5,000 line breaks] b'],
    [`a${'\n\u200d'.repeat(400)}\nb`, 'a<mark>401 line breaks: 400 × (line break, U+200D), line break</mark>\nb'],
    [`a${'\n\ufe0f'.repeat(400)}\nb`, 'a<mark>401 line breaks: 400 × (line break, U+FE0F), line break</mark>\nb'],
    [`a${' '.repeat(40)}b`, `a${' '.repeat(40)}b`, `a b`],
    [`a${' '.repeat(41)}b`, 'a<mark>41 spaces</mark>b'],
    [
      `\u3042\u200d${' '.repeat(4000)}b`,
      '\u3042<mark title="zero-width joiner">U+200D</mark><mark>4,000 spaces</mark>b',
    ],
  ]
  for (const [text, looks, inKey] of cases) {
    t.match(page(text), `<bdi dir="ltr">${looks}</bdi>`)
    t.match(page(text), `<b>"</b>${looks}<b>"</b>`, 'in the details too')
    t.match(wordsOf(page(text)), `"${inKey ?? wordsOf(looks).replace(/(?<=\]) /, '')}"`, 'and in keys')
  }
  t.match(page(`${'a\u007f'.repeat(2000)}${'\n'.repeat(9)}b`), 'a<mark title="delete">U+007F</mark>\ufffd\nb')
})

t.test('quotes and backslashes in keys and strings are escaped, so that a value cannot play a member', async (t) => {
  const page = wordsOf(render(example({ details: JSON.stringify({ 'a": "b': 'x", "ok": "yes\\' }) })))
  t.match(page, '"a\\": \\"b" "x\\", \\"ok\\": \\"yes\\\\"')
})

t.test('right-to-left runs are isolated each for itself', async (t) => {
  t.match(render(example({ description: 'א 100 ב 200' })), '<bdi dir="ltr"><bdi>א</bdi> 100 <bdi>ב</bdi> 200</bdi>')
})

t.test('how long a long text is stands before it', async (t) => {
  const text = `${'x'.repeat(400)}\n${'y'.repeat(883)}`
  const page = wordsOf(
    render(example({ description: text, details: JSON.stringify({ text }), requester: 'r'.repeat(301) })),
  )
  t.match(page, /1,284 characters, 2 lines x+/)
  t.match(page, /"text" 1,284 characters, 2 lines "x+/)
  t.match(page, /Requester 301 characters r+/)
  const list = wordsOf(listPage(listOf([example({ description: text })])))
  t.match(list, `${'x'.repeat(160)} … 1,124 more characters`)
})

t.test('two different texts never make the same page', async () => {
  const unit = fc.constantFrom(
    ...[
      'a',
      'e',
      '\\',
      '"',
      '↵',
      ' ',
      '\n',
      '\t',
      '\r',
      '\u00a0',
      '\u200b',
      '\u200d',
      '\u0301',
      '\u00e9',
      'א',
      '1',
      '\ufffd',
      '&',
      '<',
      '\u202e',
    ],
    ...[' '.repeat(41), '\n\n\n\n', 'U+202E', '<mark>U+202E</mark>', '<i></i>', '&lt;'],
  )
  const text = fc.string({ unit, maxLength: 12 })
  fc.assert(
    fc.property(text, text, (one, other) => {
      const of = (value: string) => [
        render(example({ description: `x${value}` })),
        render({ ...example({ details: JSON.stringify({ [value]: 1 }) }), digest: 'd' }),
        render({ ...example({ details: JSON.stringify({ k: value }) }), digest: 'd' }),
        render({ ...example({ requester: `x${value}` }), digest: 'd' }),
      ]
      const others = of(other)
      return one === other || of(one).every((page, index) => page !== others[index])
    }),
    { numRuns: 100 },
  )
})

/** The places where a confirmation holds what others wrote. */
function placesOf(text: string): string[] {
  return Array.from({ length: 16 }, () => text)
}

/** A confirmation that says nothing but these texts, one in each place. */
function saying(...given: string[]): Confirmation {
  const texts = given.length === 1 ? placesOf(given[0]!) : given
  const [action, description, key, value, requester, requestedAs, session, callback, rule, group, member, ...rest] =
    texts as [string, ...string[]]
  const [by, reason, comment, item, behalf] = rest
  // A prefix keeps keys apart, and names from being none.
  return {
    ...example(
      {
        action: `x${action}`,
        description: description!,
        details: JSON.stringify({ [`x${key}`]: value, nested: { [`y${key}`]: [item, [], {}] } }),
        requester: `x${requester}`,
        requestedAs: `x${requestedAs}`,
        onBehalfOf: `x${behalf}`,
        sessionKey: `x${session}`,
        callbackUrl: callback!,
      },
      {
        rule: rule!,
        mustType: true,
        seats: [{ group: group!, count: 1, members: [`x${member}`] }],
        deciders: [`x${member}`],
      },
    ),
    // Not one of the members: whose seat is taken is not asked for.
    votes: [vote(`y${by}`, { reason: `x${reason}`, comment: `x${comment}` })],
  }
}

const nasty = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({
    unit: fc.constantFrom(
      '<',
      '>',
      '"',
      "'",
      '&',
      '/',
      '=',
      '`',
      '-',
      '!',
      ' ',
      '\n',
      '\0',
      'a',
      '\u202e',
      '\ud800',
      '</',
    ),
    maxLength: 30,
  }),
  fc.constantFrom(...inert.map(([text]) => text)),
)

t.test('whatever others write, the page has the same tags as if they had written nothing of note', async (t) => {
  const harmless = saying(...placesOf('text'))
  const [plain, plainDone] = [tagsOf(render(harmless)), tagsOf(render(resolved(harmless, 'denied', 'xtext', 'xtext')))]
  fc.assert(
    fc.property(fc.array(nasty, { minLength: 16, maxLength: 16 }), ([by, ...texts]) => {
      const confirmation = saying(...texts)
      t.strictSame(tagsOf(render(confirmation, { viewer: `x${by}` })), plain)
      const done = resolved(confirmation, 'denied', `x${by}`, `x${by}`)
      t.strictSame(tagsOf(render(done)), plainDone)
    }),
    { numRuns: 200 },
  )
})

t.test('whatever others write, nothing hidden and no half character is left in a page', async () => {
  const forbidden =
    /[\u0000-\u0009\u000b-\u001f\u007f-\u00a0\u00ad\u061c\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u2069\u3000\ue000-\uf8ff\ufeff]/
  fc.assert(
    fc.property(fc.array(nasty, { minLength: 15, maxLength: 15 }), (texts) => {
      // A title has no markup to isolate with.
      const page = render(saying(...texts)).replace(/<title>[^<]*/, (title) => title.replace(/[\u2067\u2069]/g, ''))
      return page.isWellFormed() && !forbidden.test(page)
    }),
  )
})

t.test('whatever text is in a message, a list or what was entered, it stays text', async () => {
  const shape = (text: string) => [
    ...tagsOf(messagePage({ ...frame, title: text, text, link: { url: '/c', text } })),
    ...tagsOf(signInPage({ csrf: text, next: text, problem: text, isOpen: true })),
    ...tagsOf(
      listPage(
        listOf([saying(text)], { ended: [{ confirmation: resolved(saying(text), 'denied', text), url: '/c' }] }),
      ),
    ),
    ...[null, text].flatMap((whyNotApprove) =>
      tagsOf(
        render(saying('text'), {
          message: { kind: 'problem', text },
          decision: { form: formOf({ csrf: text, reason: text, typed: text, verdict: text, whyNotApprove }) },
        }),
      ),
    ),
  ]
  const plain = shape('text').join('')
  // No description is empty, but where a long one was left out.
  const someText = nasty.filter((text) => text !== '')
  fc.assert(fc.property(someText, (text) => shape(text).join('') === plain))
})

t.test('any JSON is shown whole: as many members as it has, and every one of them unfolded', async () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })), (details) => {
      const page = render(example({ details: JSON.stringify(details) }))
      const tree = /<h2 id="details-title">([\s\S]*?)<section class="decision"/.exec(page)![1]!
      const folds = [...tree.matchAll(/<details/g)].length
      const [members, containers] = count(JSON.parse(JSON.stringify(details)))
      return (
        [...tree.matchAll(/<li>/g)].length === members &&
        folds === containers &&
        folds === [...tree.matchAll(/<details open/g)].length
      )
    }),
  )
})

/** How many members there are at all levels, and how many of them have members themselves. */
function count(value: unknown): [number, number] {
  let [members, containers] = [0, 0]
  for (const one of Object.values(value as object) as unknown[]) {
    members += 1
    if (typeof one !== 'object' || one === null || Object.keys(one).length === 0) continue
    const [inner, more] = count(one)
    members += inner
    containers += 1 + more
  }
  return [members, containers]
}

t.test('ten thousand values and 64 levels are written in a blink', async (t) => {
  let deep: unknown = 'bottom'
  for (let level = 0; level < 64; level++) deep = level % 2 === 0 ? { k: deep } : [deep]
  const values = Array.from({ length: 10_000 }, (_, index) => ({ index, text: `value <${index}>` }))
  const confirmation = example({ details: JSON.stringify({ values, deep }) })
  const start = performance.now()
  const page = render(confirmation)
  const took = performance.now() - start
  t.ok(took < 2000, `${Math.round(took)} ms`)
  t.match(page, 'value &lt;9999&gt;')
  t.match(wordsOf(page), '"bottom"')
  t.match(page, 'list of 1, level 64')
})

t.test('a title is short, whatever the action is called', async (t) => {
  const page = render(example({ action: `</title>\u202e${'long '.repeat(200)}` }))
  const title = /<title>([\s\S]*?)<\/title>/.exec(page)![1]!
  t.ok(title.length < 150, title)
  t.match(title, /^Waiting for a decision: &lt;\/title&gt;\\u\{202e\}long /)
})

t.test('no page has a script, a style or a handler in it, and none needs JavaScript to decide', async (t) => {
  for (const page of [
    render(deploy),
    render(hostile),
    render(denied),
    listPage(listOf([hostile], { moreUrl: '/?cursor=a&b' })),
    signInPage({ csrf: '', next: '', problem: '', isOpen: true }),
  ]) {
    const tags = tagsOf(page)
    t.same(
      tags.filter((tag) => /^<(script|style|iframe|object|base|embed)/.test(tag)),
      ['remember', 'holdpoint', ...(page.includes('id="list"') ? ['list', 'alerts'] : [])].map(
        (name) => `<script src="/assets/${name}.js" defer>`,
      ),
    )
    t.same(
      tags.filter((tag) => / (style|on[a-z]+)=|javascript:/i.test(tag)),
      [],
    )
    t.match(page, /^<!doctype html>\s+<html lang="en">/)
    t.notMatch(page, / (disabled|hidden)[ >=]/)
  }
})

t.test('headings are in order, and ids are given once', async (t) => {
  const outcomes: Outcome[] = ['approved', 'denied', 'expired', 'cancelled', 'auto_approved']
  for (const page of [
    render(deploy),
    render(hostile),
    ...outcomes.map((one) => render(resolved(example(), one, 'a'))),
  ]) {
    const levels = [...page.matchAll(/<h([1-6])/g)].map(([, level]) => Number(level))
    t.equal(levels[0], 1)
    t.equal(levels.filter((level) => level === 1).length, 1)
    const ids = [...page.matchAll(/\bid="([^"]+)"/g)].map(([, one]) => one)
    t.same(ids, [...new Set(ids)])
    for (const [, target] of page.matchAll(/\s(?:aria-labelledby|aria-describedby|for)="([^"]+)"/g))
      t.ok(ids.includes(target))
  }
})

t.test('headers let nothing run but our own, and keep pages from frames, caches, referrers and indexes', async (t) => {
  const policy = pageHeaders['content-security-policy']!
  for (const part of [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]) {
    t.ok(policy.split('; ').includes(part), part)
  }
  t.notMatch(policy, /unsafe|\*|data:|https?:/)
  t.match(pageHeaders, {
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-robots-tag': /noindex/,
  })
})

t.test('the assets are what the pages refer to, and the scripts are such', async (t) => {
  const lists = Array.from({ length: 11 }, (_, count) => listPage(listOf([], { count })))
  const referred = [...[render(deploy), ...lists].join('').matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(
    ([, path]) => path!,
  )
  t.same([...new Set(referred)].sort(), Object.keys(assets).sort())
  for (const { type, body } of Object.values(assets)) {
    if (!type.startsWith('text/javascript')) continue
    t.doesNotThrow(() => new Script(body))
    t.notMatch(body, /innerHTML|eval|document\.write|insertAdjacent/)
  }
})
