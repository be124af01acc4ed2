// The pages' only script. Everything works without it: it lets the time run, asks for what people would have to reload for,
// and says which fields the chosen verdict needs. It never decides anything.

export const script = `'use strict'
;(() => {
  const spoken = document.getElementById('spoken')
  let main, article, form

  function look() {
    main = document.getElementById('main')
    article = document.querySelector('[data-confirmation]')
    form = document.getElementById('decision-form')
    startTimers()
    if (form !== null) require()
  }

  function say(text) {
    if (spoken !== null) spoken.textContent = text
  }

  const wait = (ms) => new Promise((go) => setTimeout(go, ms))

  // By XMLHttpRequest, which makes a document without any of the ways to make one that pages are kept from.
  function load() {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest()
      request.open('GET', location.pathname + location.search)
      request.responseType = 'document'
      request.onload = () => resolve(request)
      request.onerror = reject
      request.send()
    })
  }

  // Whether it came to that. Where there is another page by now, that one is gone to.
  async function renew() {
    let answer
    try {
      answer = await load()
    } catch {
      return false
    }
    if (answer.status >= 500 || answer.status === 429) return false
    const fresh = answer.response === null ? null : answer.response.getElementById('main')
    if (fresh === null || answer.status !== 200 || new URL(answer.responseURL).pathname !== location.pathname) {
      location.replace(location.pathname + location.search)
      return true
    }
    show(answer.response, document.adoptNode(fresh))
    return true
  }

  // What was written, folded and looked at stays; what was chosen does not, because it was chosen on what the page said
  // before.
  function show(from, fresh) {
    const hadChoice = form !== null && form.querySelector('[name=verdict]:checked') !== null
    const wasDeciding = form !== null && isInSight(form)
    const copySelection = copyDraft(fresh)
    const focused = document.activeElement
    const focus = counterpart(focused, fresh)
    const anchor = focus !== null && isInSight(focused) ? [focused, focus] : headingInSight(fresh)
    const place = scrollY
    const before = anchor === null ? 0 : top(anchor[0])
    copyFolds(fresh)
    const wasInside = main.contains(focused)
    const instead = focused.closest('#decision') === null ? null : fresh.querySelector('#decision')
    if (form !== null) holdPlace(form.closest('#decision'), fresh.querySelector('#decision'))

    main.replaceWith(fresh)
    document.title = from.title
    const header = document.querySelector('header')
    if (!header.contains(focused)) header.replaceWith(document.adoptNode(from.querySelector('header')))
    const skip = from.querySelector('.skip')
    if (skip !== null) document.querySelector('.skip').replaceWith(document.adoptNode(skip))
    // A page that answered a form is now one that was asked for: loading it again sends nothing.
    history.replaceState(null, '', location.href)
    look()
    if (article !== null) tellOfChange(hadChoice)
    if (wasInside) (focus || instead || main).focus({ preventScroll: true })
    copySelection()
    scrollTo(0, place === 0 || anchor === null ? place : scrollY + top(anchor[1]) - before)
    // Whoever was deciding sees where the form was how it ended.
    const outcome = main.querySelector('.outcome')
    if (wasDeciding && outcome !== null) outcome.scrollIntoView({ block: 'nearest' })
  }

  const top = (element) => element.getBoundingClientRect().top

  // As high as it was, so that a page that ends there does not get shorter under whoever reads it.
  function holdPlace(old, place) {
    if (place !== null && place.querySelector('form') === null) place.style.minHeight = old.offsetHeight + 'px'
  }

  function isInSight(element) {
    const { top, bottom } = element.getBoundingClientRect()
    return bottom > 0 && top < innerHeight
  }

  // The same place in another version of the page.
  function counterpart(element, fresh) {
    if (element === null || element === document.body || !main.contains(element)) return null
    if (element === main) return fresh
    if (element.id) return [...fresh.querySelectorAll('[id]')].find(({ id }) => id === element.id) || null
    const links = 'a, summary'
    return fresh.querySelectorAll(links)[[...main.querySelectorAll(links)].indexOf(element)] || null
  }

  function headingInSight(fresh) {
    const headings = [...main.querySelectorAll('h1, h2')]
    const index = headings.findLastIndex((one) => top(one) < innerHeight / 2)
    const other = fresh.querySelectorAll('h1, h2')[index]
    return other === undefined ? null : [headings[index], other]
  }

  function copyFolds(fresh) {
    const folds = [...main.querySelectorAll('details')]
    for (const [index, one] of [...fresh.querySelectorAll('details')].entries()) {
      if (folds[index] !== undefined) one.open = folds[index].open
    }
  }

  // The cursor can be put back only when the field is on the page.
  function copyDraft(fresh) {
    const fields = [...main.querySelectorAll('#reason, #typed')]
    const pairs = fields.map((one) => [one, counterpart(one, fresh) || keep(one, fresh)])
    for (const [old, field] of pairs) if (field !== null) field.value = old.value
    const focused = pairs.find(([old, field]) => old === document.activeElement && field !== null)
    if (focused === undefined) return () => {}
    const [{ selectionStart, selectionEnd }, field] = focused
    return () => field.setSelectionRange(selectionStart, selectionEnd)
  }

  // A form that is gone leaves what was written into it, to be copied.
  function keep(old, fresh) {
    const place = fresh.querySelector('#decision')
    if (place === null || old.value.trim() === '') return null
    const kept = old.closest('.field').cloneNode(true)
    const field = kept.querySelector('#' + old.id)
    if (old.dataset.keptAs) kept.querySelector('label').textContent = old.dataset.keptAs
    for (const one of kept.querySelectorAll('.hint, .field-problem')) one.remove()
    for (const name of ['name', 'required', 'aria-invalid', 'aria-describedby']) field.removeAttribute(name)
    field.readOnly = true
    place.append(kept)
    return field
  }

  function tellOfChange(hadChoice) {
    if (form === null) return say('This page has changed. ' + document.title)
    const text = hadChoice
      ? 'This page has changed. Look at it again, and choose your decision again.'
      : 'This page has changed. Look at it again before you decide.'
    tell(text)
  }

  function tell(text) {
    const notice = document.createElement('p')
    notice.className = 'notice changed'
    notice.textContent = text
    ;(form === null ? main : form).prepend(notice)
    say(text)
  }

  // Time left, by how much of it the page was sent with: the clock of this device may be wrong.
  let timers = []
  let ticking
  let before = Infinity
  const units = [['day', 86400], ['hour', 3600], ['minute', 60], ['second', 1]]
  const announced = [300, 60, 30, 10]

  function startTimers() {
    const started = Date.now()
    timers = [...document.querySelectorAll('[data-left]')].map((element) => ({
      element,
      end: started + Number(element.dataset.left),
    }))
    before = Infinity
    clearInterval(ticking)
    if (timers.length > 0) ticking = setInterval(tick, 1000)
  }

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
      void renewSoon()
    }
  }

  async function renewSoon() {
    let pause = 1500
    do {
      await wait(pause)
      pause = Math.min(pause * 2, 60000)
    } while (!(await renew()))
  }

  function untilHidden() {
    const controller = new AbortController()
    document.addEventListener('visibilitychange', () => controller.abort(), { once: true })
    return controller
  }

  // Asks whether the version is another one, as long as it can be. The server holds each question for a minute.
  async function follow() {
    let pause = 1000
    while (article !== null && article.dataset.state) {
      // A browser keeps few connections to a server: a page that nobody sees leaves them to the others.
      while (document.hidden) {
        await new Promise((go) => document.addEventListener('visibilitychange', go, { once: true }))
      }
      const { version, state } = article.dataset
      const question = new URL(state, location.href)
      question.searchParams.set('version', version)
      question.searchParams.set('wait', '60')
      const asked = Date.now()
      const { signal } = untilHidden()
      try {
        const answer = await fetch(question, { cache: 'no-store', headers: { accept: 'application/json' }, signal })
        if (answer.ok) {
          const news = await answer.json()
          const isNews = String(news.version) !== version
          pause = isNews && !(await renew()) ? Math.min(pause * 2, 60000) : 1000
        } else if (answer.status < 500 && answer.status !== 429 && answer.status !== 408) {
          return tell('You are signed out, or this page is gone. It is not renewed any more: load it again.')
        } else pause = Math.min(pause * 2, 60000)
      } catch {
        if (signal.aborted) continue
        pause = Math.min(pause * 2, 60000)
      }
      if (Date.now() - asked < 5000) await wait(pause)
    }
  }

  // What the chosen verdict needs, the browser can ask for; the server does in any case.
  function require() {
    const chosen = form.querySelector('[name=verdict]:checked')
    const choice = chosen === null ? '' : chosen.value
    const verdict = choice.startsWith('approve') ? 'approve' : choice
    for (const field of form.querySelectorAll('[data-needed-for]')) {
      const needed = field.dataset.neededFor.split(' ')
      field.required = needed.includes(verdict) || needed.includes(choice)
    }
  }

  look()
  document.addEventListener('change', () => {
    if (form !== null) require()
  })
  void follow()
  // A page that the browser kept shows what stood when it was left.
  addEventListener('pageshow', (event) => {
    if (event.persisted) void renew()
  })
})()
`
