// Messages as people see them in each chat, on a phone: sent to the played chats, and drawn from what these have.
import type { Confirmation } from '../src/core/model.js'
import type { View } from '../src/notify/card.js'
import type { Chat } from '../src/notify/chat.js'
import { createDiscord } from '../src/notify/discord.js'
import { createNtfy } from '../src/notify/ntfy.js'
import { createSlack } from '../src/notify/slack.js'
import { createTelegram } from '../src/notify/telegram.js'
import type { Teardown } from '../test/notify/chat-server.js'
import { type Part as DiscordPart, parseMarkdown } from '../test/notify/discord-markdown.js'
import { cardFor } from '../test/notify/example-cards.js'
import { type DiscordMessage, startDiscord } from '../test/notify/fake-discord.js'
import { type NtfyMessage, startNtfy } from '../test/notify/fake-ntfy.js'
import { buttonsOf, type Part, readBlocks, type SlackMessage, startSlack } from '../test/notify/fake-slack.js'
import { startTelegram, type TelegramMessage } from '../test/notify/fake-telegram.js'
import { person } from '../test/actors.js'
import { example, hostile, resolved } from '../test/web/examples.js'

/** What is shown of each chat. */
const payment = example(
  {
    action: 'pay_invoice',
    description: 'Pay the invoice of Northwind Traders, due on Friday. It is the last of three.',
    details: JSON.stringify({
      payee: 'Northwind Traders',
      iban: 'SE45 5000 0000 0583 9825 7466',
      amount: '18400.00 EUR',
    }),
    requester: 'accounts-agent',
    sessionKey: 'invoices-march',
  },
  { rule: 'payments', risk: 'high', mayWhitelist: false },
)
const moments: [name: string, confirmation: Confirmation, more: Partial<View>][] = [
  ['pending', example(), {}],
  ['asking', payment, { asking: { verb: 'approve', by: 'maria.lindqvist' } }],
  ['approved', resolved(payment, 'approved', person('maria.lindqvist')), {}],
  ['hostile', hostile, {}],
]

/** A page for each chat and moment, by the name of its picture. */
export async function chatPages(t: Teardown): Promise<Record<string, string>> {
  const timeoutMs = 5000
  const telegram = await startTelegram(t)
  const { telegramBotToken, telegramHomeChannel: home, telegramApiBase } = telegram.config
  const discord = await startDiscord(t)
  const { discordBotToken, discordHomeChannel, discordApiBase } = discord.config
  const slack = await startSlack(t)
  const { slackBotToken: botToken, slackAppToken: appToken, slackChannel: channelId, slackApiBase } = slack.config
  const ntfy = await startNtfy(t)
  const played: [chat: Chat, draw: () => string][] = [
    [
      createTelegram({
        botToken: telegramBotToken,
        chat: home,
        apiBase: telegramApiBase,
        timeoutMs,
        hearing: 'polling',
        ownWebhook: null,
      }),
      () => telegramPage(telegram.messages.at(-1)!),
    ],
    [
      createDiscord(
        {
          botToken: discordBotToken,
          channelId: discordHomeChannel,
          apiBase: discordApiBase,
          publicKey: null,
          timeoutMs,
        },
        'picture',
      ),
      () => discordPage(discord.messages.at(-1)!),
    ],
    [
      createSlack({ botToken, appToken, channelId, apiBase: slackApiBase, timeoutMs }),
      () => slackPage(slack.messages.at(-1)!),
    ],
    [
      createNtfy({ url: ntfy.url, topic: ntfy.topic, token: ntfy.token, timeoutMs }),
      () => ntfyPage(ntfy.messages.at(-1)!),
    ],
  ]
  const pages: Record<string, string> = {}
  for (const [chat, draw] of played) {
    for (const [moment, confirmation, more] of moments) {
      // Nothing is asked where nothing can be pressed.
      if (moment === 'asking' && !chat.hasButtons()) continue
      const outcome = await chat.send(cardFor(chat, confirmation, more), '', moment, new AbortController().signal)
      if (outcome.kind !== 'sent') throw new Error(`${chat.name} takes no ${moment}: ${outcome.error}`)
      pages[`${chat.name}-${moment}`] = draw()
    }
  }
  return pages
}

// -- Telegram ---------------------------------------------------------------------------------------------------------

/** Its HTML is what the played one has checked: known tags, and everything else escaped. */
function telegramPage({ html, buttons }: TelegramMessage): string {
  // What follows a block begins a line of its own without another break.
  const written = html.replace(/<\/pre>\n/g, '</pre>')
  const rows = buttons.map((row) => {
    const all = row.map(
      ({ text, url }) => `<span class="button${url === undefined ? '' : ' link'}">${escape(text)}</span>`,
    )
    return `<div class="row">${all.join('')}</div>`
  })
  const bubble = `<div class="bubble"><div class="name">Holdpoint</div><p>${written}</p><div class="when">14:02</div></div>`
  return page('telegram', 'Approvals', `${bubble}${rows.join('')}`)
}

// -- Discord ---------------------------------------------------------------------------------------------------------

function discordPage({ embeds, components }: DiscordMessage): string {
  const drawn = (embeds as { title: string; description: string; color: number }[]).map(
    ({ title, description, color }) =>
      `<section style="border-left-color: #${color.toString(16).padStart(6, '0')}"><h2>${escape(title)}</h2>` +
      `<p>${parseMarkdown(description).map(discordPart).join('')}</p></section>`,
  )
  const styles = ['', '', 'plain', 'success', 'danger', 'link']
  const rows = (components as { components: { label: string; style: number }[] }[]).map((row) => {
    const buttons = row.components.map(
      ({ label, style }) => `<span class="button ${styles[style]!}">${escape(label)}${style === 5 ? ' ↗' : ''}</span>`,
    )
    return `<div class="row">${buttons.join('')}</div>`
  })
  return page('discord', '# approvals', `${head('Holdpoint', 'APP')}${drawn.join('')}${rows.join('')}`)
}

/** What has no look of its own here must not come up. */
function discordPart({ kind, text }: DiscordPart): string {
  switch (kind) {
    case 'text':
      return escape(text)
    case 'bold':
      return `<b>${escape(text)}</b>`
    case 'code':
      return `<code>${escape(text)}</code>`
    case 'block':
      return `<pre>${escape(text)}</pre>`
    case 'address':
      return `<a>${escape(text)}</a>`
    default:
      throw new Error(`${kind} in a message: ${text}`)
  }
}

// -- Slack -----------------------------------------------------------------------------------------------------------

function slackPage(message: SlackMessage): string {
  const blocks = readBlocks(message).map((parts, index) => {
    const written = parts.map(slackPart).join('')
    return index === 0 ? `<h2>${written}</h2>` : `<p>${written}</p>`
  })
  const rows = message.blocks.filter(({ type }) => type === 'actions')
  const buttons = rows.map((row) => {
    const all = (buttonsOf({ blocks: [row] }) as { text: { text: string }; style?: string }[]).map(
      ({ text, style = 'plain' }) => `<span class="button ${style}">${escape(text.text)}</span>`,
    )
    return `<div class="row">${all.join('')}</div>`
  })
  return page('slack', '# approvals', `${head('Holdpoint', 'APP')}${blocks.join('')}${buttons.join('')}`)
}

function slackPart({ kind, text }: Part): string {
  switch (kind) {
    case 'bold':
      return `<b>${escape(text)}</b>`
    case 'code':
      return `<code>${escape(text)}</code>`
    case 'block':
      return `<pre>${escape(text.replace(/^\n/, ''))}</pre>`
    default:
      return escape(text)
  }
}

// -- ntfy ------------------------------------------------------------------------------------------------------------

function ntfyPage({ title, message, priority, actions }: NtfyMessage): string {
  const urgency = ['', 'lowest', 'low', 'default', 'high', 'urgent'][priority]!
  const buttons = actions.map(({ label }) => `<span class="button">${escape(label)}</span>`).join('')
  return page(
    'ntfy',
    'holdpoint-…',
    `<div class="when">14:02 · ${urgency}</div><h2>${escape(title)}</h2><p>${escape(message)}</p><div class="row">${buttons}</div>`,
  )
}

// -- all of them -----------------------------------------------------------------------------------------------------

function head(name: string, mark: string): string {
  return `<div class="head"><b>${name}</b><span class="mark">${mark}</span><span class="when">14:02</span></div>`
}

function page(chat: string, title: string, message: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${chat}</title><style>${style}</style>
<body class="${chat}"><header>${escape(title)}</header><main><div class="face">H</div><article>${message}</article></main>`
}

function escape(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
}

const style = `
* { box-sizing: border-box; margin: 0 }
body { font: 15px/1.42 system-ui, 'DejaVu Sans', sans-serif; background: var(--back); color: var(--ink);
  --back: #fff; --ink: #1c1d20; --card: transparent; --code: #f3f3f4; --edge: #d9d9dc; --dim: #6b6d73; --accent: #1c1d20 }
header { padding: 12px 16px; font-weight: 600; border-bottom: 1px solid var(--edge) }
main { display: flex; gap: 10px; padding: 14px 12px 18px }
.face { flex: none; width: 34px; height: 34px; border-radius: 8px; background: #37474f; color: #fff; font-weight: 700;
  display: grid; place-items: center }
article { flex: 1; min-width: 0; background: var(--card); border-radius: 10px }
.head { display: flex; gap: 6px; align-items: baseline; margin-bottom: 2px }
.mark { font-size: 10px; padding: 1px 4px; border-radius: 3px; background: var(--code); color: var(--dim) }
.when { font-size: 12px; color: var(--dim) }
h2 { font-size: 17px; margin: 2px 0 6px }
p { margin-bottom: 6px; white-space: pre-wrap; overflow-wrap: anywhere }
code, pre { font-family: ui-monospace, 'DejaVu Sans Mono', monospace; font-size: 12.5px; background: var(--code);
  border: 1px solid var(--edge); border-radius: 4px; overflow-wrap: anywhere; white-space: pre-wrap }
code { padding: 0 3px }
pre { padding: 6px 8px; margin: 3px 0 }
.row { display: flex; flex-wrap: wrap; gap: 8px; margin-top: 8px }
.button { padding: 7px 13px; border: 1px solid var(--edge); border-radius: 6px; font-weight: 600; font-size: 14px }
.slack code { color: #b0264c }
.slack .primary { background: #0a7d58; border-color: #0a7d58; color: #fff }
.slack .danger { background: #d3234a; border-color: #d3234a; color: #fff }
.telegram { --back: #d6e4ee; --card: transparent; --code: #eef3f7; --edge: #e0e7ed; --dim: #8193a3 }
.telegram header { background: #fff }
.telegram main { padding-left: 8px; align-items: flex-end }
.telegram .face { border-radius: 50% }
.telegram .bubble { background: #fff; border-radius: 12px 12px 12px 4px; padding: 7px 11px 5px }
.telegram .name { color: #2f7cb8; font-weight: 600; font-size: 14px }
.telegram p { margin: 0 }
.telegram .when { text-align: right; line-height: 1 }
.telegram code { border: 0; padding: 0; background: none; color: #2b5c84 }
.telegram pre { border: 0; border-left: 3px solid #6fa5d2; color: #2b5c84 }
.telegram .row { flex-wrap: nowrap; gap: 4px; margin-top: 4px }
.telegram .button { flex: 1; border: 0; border-radius: 8px; padding: 9px 6px; text-align: center; color: #fff;
  background: #5c7c96d9 }
.telegram .link::after { content: '↗'; float: right; font-size: 11px; line-height: 1 }
.discord { --back: #313338; --ink: #dbdee1; --code: #1e1f22; --edge: #1e1f22; --dim: #a3a6aa; --accent: #5865f2 }
.discord .face { border-radius: 50%; background: var(--accent) }
.discord .mark { background: var(--accent); color: #fff }
.discord section { background: #2b2d31; border-left: 4px solid; border-radius: 4px; padding: 8px 12px; margin-top: 6px }
.discord section h2 { font-size: 15px }
.discord section p { font-size: 14px; margin: 0 }
.discord pre { white-space: pre-wrap }
.discord a { color: #00a8fc }
.discord .button { border: 0; border-radius: 3px; background: #4e5058; color: #fff; font-weight: 500 }
.discord .success { background: #248046 }
.discord .danger { background: #da373c }
.ntfy { --back: #eceff1; --card: #fff; --accent: #2f7f74 }
.ntfy header { background: var(--accent); color: #fff; border: 0 }
.ntfy .face { display: none }
.ntfy article { padding: 12px 14px; box-shadow: 0 1px 2px #0003 }
.ntfy .button { border: 0; padding: 4px 0; color: var(--accent); text-transform: uppercase }
`
