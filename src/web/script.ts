// The pages' only script. Everything works without it: it lets the time run, asks for what people would have to reload for,
// and says which fields the chosen verdict needs. It never decides anything.

export const script = `'use strict'
;(() => {
  const storage = 'holdpoint-draft'
  const spoken = document.getElementById('spoken')
  const article = document.querySelector('[data-confirmation]')
  const form = document.getElementById('decision-form')

  function say(text) {
    if (spoken !== null) spoken.textContent = text
  }

  // A GET of the same address, also where this page answered a POST. What was written is kept; what was chosen is not,
  // because it was chosen on what the page said before.
  function renew() {
    if (form !== null) {
      const draft = { id: article.dataset.confirmation, reason: valueOf('reason'), typed: valueOf('typed') }
      try {
        if (draft.reason || draft.typed) sessionStorage.setItem(storage, JSON.stringify(draft))
      } catch {}
    }
    location.replace(location.pathname + location.search)
  }

  function valueOf(name) {
    const field = form.elements.namedItem(name)
    return field === null ? '' : field.value
  }

  function restore() {
    let draft = null
    try {
      draft = JSON.parse(sessionStorage.getItem(storage))
      sessionStorage.removeItem(storage)
    } catch {}
    if (draft === null || form === null || draft.id !== article.dataset.confirmation) return
    for (const name of ['reason', 'typed']) {
      const field = form.elements.namedItem(name)
      if (field !== null && field.value === '' && typeof draft[name] === 'string') field.value = draft[name]
    }
    say('This page has changed. What you wrote is still there; choose your decision again.')
  }

  // Time left, by how much of it the page was sent with: the clock of this device may be wrong.
  const started = Date.now()
  const timers = [...document.querySelectorAll('[data-left]')].map((element) => ({
    element,
    end: started + Number(element.dataset.left),
  }))
  const units = [['day', 86400], ['hour', 3600], ['minute', 60], ['second', 1]]
  const announced = [300, 60, 30, 10]
  let before = Infinity

  function words(seconds) {
    const parts = []
    for (const [unit, size] of units) {
      const count = Math.floor(seconds / size)
      seconds -= count * size
      if (count > 0) parts.push(count + ' ' + unit + (count === 1 ? '' : 's'))
      else if (parts.length > 0) break
      if (parts.length === 2) break
    }
    return parts.join(' ')
  }

  function tick() {
    const now = Date.now()
    let isOver = false
    for (const { element, end } of timers) {
      const seconds = Math.max(0, Math.ceil((end - now) / 1000))
      const text = seconds > 0 ? words(seconds) + ' left' : 'The time is over'
      if (element.textContent !== text) element.textContent = text
      element.classList.toggle('soon', seconds <= 60)
      if (seconds === 0) isOver = true
      if (article !== null && timers[0].element === element) {
        const mark = announced.find((one) => before > one && seconds <= one)
        if (mark !== undefined && before !== Infinity && seconds > 0) say(words(seconds) + ' left to decide.')
        before = seconds
      }
    }
    if (isOver) {
      say('The time is over.')
      clearInterval(ticking)
      setTimeout(renew, 1500)
    }
  }
  const ticking = timers.length > 0 ? setInterval(tick, 1000) : undefined

  function untilHidden() {
    const controller = new AbortController()
    document.addEventListener('visibilitychange', () => controller.abort(), { once: true })
    return controller
  }

  // Asks until the version is another one. The server holds each question for a minute.
  async function follow(url, version) {
    const question = new URL(url, location.href)
    question.searchParams.set('version', version)
    question.searchParams.set('wait', '60')
    let pause = 1000
    for (;;) {
      // A browser keeps few connections to a server: a page that nobody sees leaves them to the others.
      while (document.hidden) {
        await new Promise((go) => document.addEventListener('visibilitychange', go, { once: true }))
      }
      const asked = Date.now()
      const { signal } = untilHidden()
      try {
        const answer = await fetch(question, { cache: 'no-store', headers: { accept: 'application/json' }, signal })
        if (answer.ok) {
          const state = await answer.json()
          if (String(state.version) !== version) return renew()
          pause = 1000
        } else if (answer.status < 500 && answer.status !== 429 && answer.status !== 408) {
          return
        } else pause = Math.min(pause * 2, 60000)
      } catch {
        if (signal.aborted) continue
        pause = Math.min(pause * 2, 60000)
      }
      if (Date.now() - asked < 5000) await new Promise((go) => setTimeout(go, pause))
    }
  }

  // What the chosen verdict needs, the browser can ask for; the server does in any case.
  function require() {
    const chosen = form.querySelector('[name=verdict]:checked')
    const verdict = chosen === null ? '' : chosen.value.startsWith('approve') ? 'approve' : 'deny'
    for (const field of form.querySelectorAll('[data-needed-for]')) {
      field.required = field.dataset.neededFor.split(' ').includes(verdict)
    }
  }

  restore()
  if (form !== null) {
    form.addEventListener('change', require)
    require()
  }
  if (article !== null && article.dataset.state) follow(article.dataset.state, article.dataset.version)
  // A page that the browser kept shows what stood when it was left.
  addEventListener('pageshow', (event) => {
    if (event.persisted) renew()
  })
})()
`
