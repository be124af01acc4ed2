// A press of a button in a chat. What was pressed is known by its token, who pressed by the id that the chat vouches for;
// deciding goes the way of every decision, and the message follows what comes of it.
import { anyone } from '../access/role.js'
import type { Button } from '../access/button.js'
import { textOf } from '../core/actor.js'
import type { ChatName, Confirmation, Delivery, DeliveryKey, MessageRef, Pending } from '../core/model.js'
import { isRefusal } from '../core/refusal.js'
import { approvalsGiven } from '../core/vote.js'
import type { Chat, Press, PressAnswer } from '../notify/chat.js'
import { isSameDelivery } from '../notify/delivery.js'
import type { Follower } from '../notify/follower.js'
import { askWhyOccasion } from '../notify/why.js'
import type { Decision } from '../service/decide.js'
import type { Service } from '../service/service.js'
import { OutcomeUnknown, StoreUnavailable } from '../store/store.js'
import type { Known, Who } from './who.js'

export interface PressDeps {
  service: Pick<Service, 'find' | 'findButton' | 'endQuestion' | 'decide'>
  follower: Pick<Follower, 'ask'>
  who: Who
  /** Waits a moment until this message is known to have gone out: somebody may press it before that. */
  whenSent(of: DeliveryKey): Promise<void>
  /** The delivery of a message, if it is one of ours. */
  deliveryOf(channel: ChatName, message: MessageRef): Promise<Delivery | undefined>
  /** What a stranger is told to do. */
  howToAllow(channel: string, id: string): string
}

const maxReason = 10_000

export type Presses = (chat: Chat, press: Press) => Promise<PressAnswer>

export function createPresses(deps: PressDeps): Presses {
  const { service, follower, who, whenSent, deliveryOf, howToAllow } = deps

  async function take(chat: Chat, press: Press): Promise<PressAnswer> {
    const { by, data } = press
    const button = await service.findButton(data)
    const known = who.know(by)
    if (known === null) {
      await who.refuseStranger(by, by.channel, button?.of.subjectId ?? null)
      return alert(by.isNobody ? 'Only a person can decide, under their own name.' : howToAllow(by.channel, by.id))
    }
    const found = button === undefined ? null : await findMessage(button, press)
    if (button === undefined || found === null) return alert(await sayNoLonger(press))
    const { confirmation, delivery } = found
    if (confirmation.status !== 'pending') {
      follower.ask(delivery, null)
      return alert(sayState(confirmation))
    }
    switch (button.verb) {
      case 'approve':
      case 'session': {
        const problem = await who.problemWith(confirmation, known, 'approve', by.channel)
        if (problem !== null) return alert(problem.sentence)
        follower.ask(delivery, { verb: button.verb, presser: by.id, by: textOf(known) })
        return quiet('Press Yes to approve, or Back.')
      }
      case 'back':
        await service.endQuestion(delivery)
        follower.ask(delivery, null)
        return quiet('Nothing was decided.')
      case 'yes':
      case 'yes_session':
        if (button.presser !== by.id) {
          return alert('Only whoever pressed Approve can say yes. Press Back, and then Approve yourself.')
        }
        return decide(chat, press, delivery, known, button.verb === 'yes' ? 'approve' : 'session')
      case 'deny':
        if (chat.hasForms && press.reason === null) return denyForm(confirmation, known, press)
        if (!chat.hasForms && confirmation.terms.reasonFor.includes('deny')) {
          return alert(`Its rule wants a reason: write /deny ${confirmation.id.slice(-8)} and why.`)
        }
        return decide(chat, press, delivery, known, 'deny')
    }
  }

  /** The message that a press came from, if it is the one that its button was made for. */
  async function findMessage({ of }: Button, { by, message }: Press) {
    if (of.channel !== by.channel || message === null) return null
    const found = (await findSent(of)) ?? (await whenSent(of).then(() => findSent(of)))
    // Unless both say which message it is, the press may have come from anywhere.
    const sent = found?.delivery.message
    return sent?.chat === message.chat && sent.id === message.id ? found : null
  }

  async function findSent(of: DeliveryKey) {
    const found = await service.find(of.subjectId, anyone)
    if (isRefusal(found)) return null
    const delivery = found.deliveries.find((one) => isSameDelivery(one, of))
    return delivery?.message == null ? null : { confirmation: found.confirmation, delivery }
  }

  /** Whoever comes too late for a button that is gone learns how it ended. */
  async function sayNoLonger({ by, message }: Press): Promise<string> {
    const of = message === null ? undefined : await deliveryOf(by.channel, message)
    const found = of === undefined || of.state === 'collected' ? null : await service.find(of.subjectId, anyone)
    if (found !== null && !isRefusal(found) && found.confirmation.status !== 'pending')
      return sayState(found.confirmation)
    return 'This button is no longer good. Use the newest message.'
  }

  /** What is wrong with who denies is told before they write a reason. */
  async function denyForm(pending: Pending, known: Known, { by, data }: Press): Promise<PressAnswer> {
    const problem = await who.problemWith(pending, known, 'deny', by.channel)
    if (problem !== null) return alert(problem.sentence)
    const isRequired = pending.terms.reasonFor.includes('deny')
    return { kind: 'form', title: 'Deny', label: isRequired ? 'Reason' : 'Reason (optional)', data, isRequired }
  }

  async function decide(
    chat: Chat,
    press: Press,
    of: DeliveryKey,
    by: Known,
    choice: 'approve' | 'session' | 'deny',
  ): Promise<PressAnswer> {
    const { channel, destination } = of
    // Where no form did.
    const asksWhy = choice === 'deny' && press.reason === null && !chat.hasForms
    const askWhy = asksWhy ? { channel, destination, occasion: askWhyOccasion(press.by.id, of.occasion) } : null
    const decision = decisionOf(choice, by, press.reason, press.by.channel)
    const result = await service.decide(of.subjectId, { ...decision, askWhy })
    return isRefusal(result) ? alert(result.sentence) : quiet(sayDone(result.confirmation, choice))
  }

  return async (chat, press) => {
    try {
      return await take(chat, press)
    } catch (error) {
      if (error instanceof OutcomeUnknown) {
        return alert('It is not certain whether this was recorded. See what the message says in a moment.')
      }
      if (!(error instanceof StoreUnavailable)) throw error
      return alert('Nothing was decided: the database does not answer. Press again in a moment.')
    }
  }
}

/** What somebody decides in a chat. */
export function decisionOf(
  choice: 'approve' | 'session' | 'deny',
  by: Known,
  reason: string | null,
  via: Press['by']['channel'],
): Decision {
  const remember = { scope: 'session', ttlSeconds: null, for: null, isExact: false } as const
  const given = (reason ?? '').replaceAll('\0', '').toWellFormed().trim().slice(0, maxReason)
  return {
    verdict: choice === 'deny' ? 'deny' : 'approve',
    reason: given === '' ? null : given,
    remember: choice === 'session' ? remember : null,
    typed: null,
    approver: { by, comment: null },
    authority: null,
    via,
  }
}

/** What came of it, for whoever decided. */
export function sayDone(confirmation: Confirmation, choice: 'approve' | 'session' | 'deny'): string {
  const { status, terms } = confirmation
  if (status === 'pending') {
    return `Your approval counts: ${approvalsGiven(confirmation)} of ${terms.approvals}. Somebody else must approve, too.`
  }
  if (choice === 'deny') return 'Denied.'
  return choice === 'session' ? 'Approved, and so is what follows of it in this session.' : 'Approved.'
}

export function sayState({ status, resolution }: Confirmation): string {
  if (resolution === null) return 'It is pending.'
  const by = textOf(resolution.by)
  if (status === 'expired') return 'It has expired: nobody answered in time.'
  return `It is ${status.replace('_', '-')} already, by ${by}. That stands.`
}

function alert(text: string): PressAnswer {
  return { kind: 'whisper', text, isAlert: true }
}

function quiet(text: string): PressAnswer {
  return { kind: 'whisper', text, isAlert: false }
}
