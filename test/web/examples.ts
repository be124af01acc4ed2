// Confirmations as people meet them, for tests and for the pictures in the documents.
import type { Actor, Voter } from '../../src/core/actor.js'
import { hold, resolve } from '../../src/core/confirmation.js'
import {
  type Confirmation,
  defaultTerms,
  type Outcome,
  type Pending,
  type Resolved,
  type Submission,
  type Terms,
  type Vote,
} from '../../src/core/model.js'
import { isRefusal } from '../../src/core/refusal.js'
import type { ConfirmationPage } from '../../src/web/confirmation-page.js'
import type { DecisionForm } from '../../src/web/decision-form.js'
import type { ListPage } from '../../src/web/list-page.js'
import { person } from '../actors.js'
import { submissionOf } from '../submission.js'

/** 2026-03-12T14:02:10Z */
export const askedAt = Date.UTC(2026, 2, 12, 14, 2, 10)
export const id = '0197f3a2-5c1e-7b40-9d6a-3f8e21c4b705'

const plain: Submission = submissionOf({
  action: 'send_newsletter',
  description: 'Send the March newsletter to all subscribers.',
  details: JSON.stringify({ list: 'subscribers', count: 4812 }),
  requester: 'newsletter-agent',
  sessionKey: 'march-campaign',
  timeoutSeconds: 900,
})

export function example(submission: Partial<Submission> = {}, terms: Partial<Terms> = {}): Pending {
  return hold({ ...plain, ...submission }, id, askedAt, { ...defaultTerms, ...terms })
}

export function resolved(
  of: Confirmation,
  status: Outcome,
  by: string | Actor,
  reason: string | null = null,
): Resolved {
  const resolution = {
    by: typeof by === 'string' ? person(by) : by,
    at: askedAt + 95_000,
    via: 'http',
    reason,
  } as const
  const done = resolve(of, status, resolution, 900_000)
  if (isRefusal(done)) throw new Error(done.sentence)
  return done
}

export function vote(by: string | Voter, more: Partial<Vote> = {}): Vote {
  return {
    verdict: 'approve',
    by: typeof by === 'string' ? person(by) : by,
    at: askedAt + 61_000,
    via: 'telegram',
    reason: null,
    comment: null,
    remember: null,
    ...more,
  }
}

export function formOf(more: Partial<DecisionForm> = {}): DecisionForm {
  return { action: '/page', csrf: 'token', by: person('maria.lindqvist'), whyNotApprove: null, ...more }
}

/** A page as a signed-in person sees it, with a form while it is pending. */
export function pageOf(confirmation: Confirmation, more: Partial<ConfirmationPage> = {}): ConfirmationPage {
  return {
    confirmation,
    now: askedAt + 128_000,
    isOpen: false,
    viewer: 'maria.lindqvist',
    signOut: { action: '/logout', csrf: 'token' },
    decision: confirmation.resolution === null ? { form: formOf() } : null,
    message: null,
    stateUrl: null,
    signInUrl: null,
    backUrl: '/pages',
    next: null,
    ...more,
  }
}

export const deploy: Confirmation = {
  ...example(
    {
      action: 'deploy_production',
      description:
        'Release billing-api 4.18.0 to production. It adds invoice numbering per country and migrates the table ' +
        '“invoices” (2.1 million rows, about 6 minutes, reads continue).\n\nStaging has run this version since Tuesday.',
      details: JSON.stringify({
        service: 'billing-api',
        version: { from: '4.17.3', to: '4.18.0', commit: '9f2c1ab74e' },
        regions: ['eu-north-1', 'eu-central-1'],
        migration: { table: 'invoices', rows: 2_104_377, reversible: false },
        command: 'kubectl -n billing set image deployment/api api=registry.internal/billing-api:4.18.0',
        canary_percent: 5,
        notify: [],
      }),
      requester: 'release-agent',
      requestedAs: 'Jonas (release manager)',
      sessionKey: 'release-2026-03-12',
      timeoutSeconds: 1800,
    },
    {
      rule: 'production changes',
      risk: 'high',
      approvals: 2,
      seats: [
        { group: 'platform', count: 1, members: ['maria.lindqvist', 'tom.okafor'] },
        { group: 'finance', count: 1, members: ['ines.castro', 'paul.weber'] },
      ],
      deciders: ['maria.lindqvist', 'tom.okafor', 'ines.castro', 'paul.weber'],
      mayWhitelist: false,
      reasonFor: ['deny'],
    },
  ),
  votes: [vote('ines.castro', { reason: 'Checked the numbering with the auditors.' })],
  version: 2,
}

const paying = example(
  {
    action: 'pay_invoice',
    description: 'Pay the invoice of Northwind Traders, due on Friday.',
    details: JSON.stringify({
      payee: 'Northwind Traders',
      iban: 'SE45 5000 0000 0583 9825 7466',
      amount: '18400.00 EUR',
    }),
    requester: 'accounts-agent',
    sessionKey: '',
  },
  { rule: 'payments', risk: 'high', reasonFor: ['approve', 'deny'] },
)
const payingDenied = vote('paul.weber', {
  verdict: 'deny',
  via: 'http',
  at: askedAt + 95_000,
  reason: 'This IBAN is not the one we have on file.',
})
export const denied: Resolved = {
  ...resolved(paying, 'denied', 'paul.weber', payingDenied.reason),
  votes: [payingDenied],
}

/** Whatever an agent could try to make the page say something else. */
export const hostile: Confirmation = {
  ...example(
    {
      action: 'cleanup\u202egnp.exe\u202c_tmp',
      description:
        'Harmless. <b>Already approved</b> by \u2067admin\u2069</div></details>\n<script>window.__pwned = 1</script>' +
        '<img src=x onerror="window.__pwned = 1"> U+202E is only text here.',
      details: JSON.stringify({
        path: '/srv/data\u200b/../..',
        '"dry_run': 'true",\n"confirmed": "yes',
        '': { '</details>': [true, null, '\u0007bell', {}], '\u2066key\u2069': -1.5e300 },
        word: 'A'.repeat(90),
        marks: `Z${'\u0324\u0301'.repeat(6)} above and below`,
      }),
      requester: 'agent\u00ad" onmouseover="window.__pwned = 1',
      requestedAs: 'The Board\nApproved by: everyone',
      sessionKey: '<svg onload=window.__pwned=1>',
      callbackUrl: 'https://example.com/?a=1&b="><script>window.__pwned=1</script>',
    },
    { rule: "rule'><i>", risk: 'high', mustType: true },
  ),
  votes: [
    vote('<u>mallory</u>', { verdict: 'approve', reason: '--><!-- \u2028 ]]>', comment: 'maria\u200b.lindqvist' }),
  ],
}

/** The list as a signed-in person sees it. */
export function listOf(confirmations: Confirmation[], more: Partial<ListPage> = {}): ListPage {
  return {
    isOpen: false,
    viewer: 'maria',
    signOut: { action: '/logout', csrf: 'token' },
    items: confirmations.map((confirmation) => ({ confirmation, url: '/c/1' })),
    ended: [],
    count: confirmations.length,
    now: askedAt,
    moreUrl: null,
    startUrl: null,
    follow: null,
    ...more,
  }
}
