// The pages' script. Everything works without it: it lets the time run, asks for what people would have to reload for,
// and says which fields the chosen verdict needs. It never decides anything. Compiled to one classic script: no imports.

;(() => {
  type Field = HTMLInputElement | HTMLTextAreaElement

  const spoken = document.getElementById('spoken')
  let main: HTMLElement
  let article: HTMLElement | null
  let form: HTMLFormElement | null

  function look(): void {
    main = document.getElementById('main')!
    article = document.querySelector<HTMLElement>('[data-confirmation]')
    form = document.querySelector<HTMLFormElement>('#decision-form')
    startTimers()
    markRequired()
    dispatchEvent(new Event('holdpoint:shown'))
  }

  function say(text: string): void {
    if (spoken !== null) spoken.textContent = text
  }

  const wait = (ms: number) => new Promise((go) => setTimeout(go, ms))

  /** By XMLHttpRequest, which makes a document without any of the ways to make one that pages are kept from. */
  function load(): Promise<XMLHttpRequest> {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest()
      request.open('GET', location.pathname + location.search)
      request.responseType = 'document'
      request.onload = () => resolve(request)
      request.onerror = () => reject(new Error('the page could not be loaded'))
      request.send()
    })
  }

  /** Whether it came to that. Where there is another page by now, that one is gone to. */
  async function renew(): Promise<boolean> {
    let answer
    try {
      answer = await load()
    } catch {
      return false
    }
    if (answer.status >= 500 || answer.status === 429) return false
    const loaded = answer.response as Document | null
    const fresh = loaded?.getElementById('main') ?? null
    const isOther = new URL(answer.responseURL).pathname !== location.pathname
    if (loaded === null || fresh === null || answer.status !== 200 || isOther) {
      leave()
      return true
    }
    show(loaded, document.adoptNode(fresh))
    return true
  }

  let isLeft = false

  /** The server says what there is to see here by now; but what somebody has written is not thrown away. */
  function leave(): void {
    if (isLeft) return
    const drafts = [...document.querySelectorAll<Field>('#reason, #typed')]
    if (drafts.every(({ value }) => value.trim() === '')) return location.replace(location.pathname + location.search)
    isLeft = true
    tell('You are signed out, or this page is gone. Copy what you have written, and load the page again.')
  }

  /**
   * What was written, folded and looked at stays; what was chosen does not, because it was chosen on what the page said
   * before.
   */
  function show(from: Document, fresh: HTMLElement): void {
    const hadChoice = form !== null && form.querySelector('[name=verdict]:checked') !== null
    const wasDeciding = form !== null && isInSight(form)
    const copySelection = copyDraft(fresh)
    const focused = document.activeElement
    const focus = counterpart(focused, fresh)
    const place = scrollY
    const [old, now] = choiceInSight(fresh) ?? focusInSight(fresh) ?? headingInSight(fresh) ?? []
    const before = old === undefined ? 0 : top(old)
    copyFolds(fresh)
    const wasInside = main.contains(focused)
    const decision = fresh.querySelector<HTMLElement>('#decision')
    const instead = focused?.closest('#decision') ? decision : null
    if (form !== null) holdPlace(form.closest<HTMLElement>('#decision'), decision)

    main.replaceWith(fresh)
    document.title = from.title
    const header = document.querySelector('header')
    if (header?.contains(focused) === false) replace(header, from.querySelector('header'))
    replace(document.querySelector('.skip'), from.querySelector('.skip'))
    // A page that answered a form is now one that was asked for: loading it again sends nothing.
    history.replaceState(null, '', location.href)
    look()
    if (article !== null) tellOfChange(hadChoice)
    if (wasInside) (focus ?? instead ?? main).focus({ preventScroll: true })
    copySelection()
    if (now !== undefined && (place > 0 || form?.contains(now))) scrollFor(top(now) - before)
    else scrollTo(0, place)
    // A person who was deciding sees how it ended where the form was.
    const outcome = main.querySelector('.outcome')
    if (wasDeciding && outcome !== null) outcome.scrollIntoView({ block: 'nearest' })
  }

  function replace(old: Element | null, fresh: Element | null): void {
    if (fresh !== null) old?.replaceWith(document.adoptNode(fresh))
  }

  const top = (element: Element) => element.getBoundingClientRect().top

  /** As high as it was, so that a page that ends there does not get shorter under its reader. */
  function holdPlace(old: HTMLElement | null, place: HTMLElement | null): void {
    if (old === null || place === null || place.querySelector('form') !== null) return
    place.style.minHeight = `${old.offsetHeight}px`
  }

  function isInSight(element: Element): boolean {
    const { top, bottom } = element.getBoundingClientRect()
    return bottom > 0 && top < innerHeight
  }

  /** The same place in another version of the page. */
  function counterpart(element: Element | null, fresh: HTMLElement): HTMLElement | null {
    if (element === null || element === document.body || !main.contains(element)) return null
    if (element === main) return fresh
    if (element.id) return [...fresh.querySelectorAll<HTMLElement>('[id]')].find(({ id }) => id === element.id) ?? null
    const links = 'a, summary'
    const index = [...main.querySelectorAll(links)].indexOf(element)
    return fresh.querySelectorAll<HTMLElement>(links)[index] ?? null
  }

  /** Whatever changes above the form, it is not to be another verdict that is under a finger then. */
  function choiceInSight(fresh: HTMLElement): [Element, Element] | null {
    const [old, other] = [main, fresh].map((one) => one.querySelector('#decision-form [name=verdict]'))
    return old && other && isInSight(form!) && !form!.contains(document.activeElement) ? [old, other] : null
  }

  function focusInSight(fresh: HTMLElement): [Element, Element] | null {
    const focused = document.activeElement
    const other = counterpart(focused, fresh)
    return focused !== null && other !== null && isInSight(focused) ? [focused, other] : null
  }

  function headingInSight(fresh: HTMLElement): [Element, Element] | null {
    const headings = [...main.querySelectorAll('h1, h2')]
    const passed = headings.filter((one) => top(one) < innerHeight / 2)
    for (const heading of passed.reverse()) {
      const index = headings.indexOf(heading)
      const other = heading.id ? counterpart(heading, fresh) : fresh.querySelectorAll('h1, h2')[index]
      if (other) return [heading, other]
    }
    return null
  }

  function copyFolds(fresh: HTMLElement): void {
    // What was asked for is the same in both.
    const folds = [...main.querySelectorAll<HTMLDetailsElement>('.request details')]
    for (const [index, one] of [...fresh.querySelectorAll<HTMLDetailsElement>('.request details')].entries()) {
      one.open = folds[index]?.open ?? one.open
    }
    const facts = fresh.querySelector<HTMLDetailsElement>('#facts')
    if (facts !== null) facts.open = main.querySelector<HTMLDetailsElement>('#facts')?.open ?? false
  }

  /** The cursor can be put back only when the field is on the page. */
  function copyDraft(fresh: HTMLElement): () => void {
    let copySelection = () => {}
    for (const old of main.querySelectorAll<Field>('#reason, #typed')) {
      const field = (counterpart(old, fresh) as Field | null) ?? keep(old, fresh)
      if (field === null) continue
      field.value = old.value
      const { selectionStart, selectionEnd } = old
      if (old === document.activeElement) copySelection = () => field.setSelectionRange(selectionStart, selectionEnd)
    }
    return copySelection
  }

  /** A form that is gone leaves what was written into it, to be copied. */
  function keep(old: Field, fresh: HTMLElement): Field | null {
    const place = fresh.querySelector('#decision')
    if (place === null || old.value.trim() === '') return null
    const kept = old.closest('.field')!.cloneNode(true) as HTMLElement
    const field = kept.querySelector<Field>(`#${old.id}`)!
    if (old.dataset.keptAs) kept.querySelector('label')!.textContent = old.dataset.keptAs
    for (const one of kept.querySelectorAll('.hint, .field-problem')) one.remove()
    for (const name of ['name', 'required', 'aria-invalid', 'aria-describedby']) field.removeAttribute(name)
    field.readOnly = true
    place.append(kept)
    return field
  }

  function tellOfChange(hadChoice: boolean): void {
    if (form === null) return say(`This page has changed. ${document.title}`)
    tell(
      hadChoice
        ? 'This page has changed. Look at it again, and choose your decision again.'
        : 'This page has changed. Look at it again before you decide.',
    )
  }

  /** A form that is in sight stays in its place under the notice. */
  function tell(text: string): void {
    const notice = document.createElement('p')
    notice.className = 'notice changed'
    notice.textContent = text
    const below = form !== null && isInSight(form) ? form.lastElementChild : null
    const before = below === null ? 0 : top(below)
    ;(form ?? main).prepend(notice)
    if (below !== null) scrollFor(top(below) - before)
    say(text)
  }

  /** Also on a page that is too short to be scrolled. */
  function scrollFor(pixels: number): void {
    const place = scrollY + pixels
    document.body.style.minHeight = `${innerHeight + place}px`
    scrollTo(0, place)
  }

  // Times as the reader's own clock has them, with UTC beside.
  const wallClock = new Intl.DateTimeFormat('en', {
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  })
  const { timeZone } = wallClock.resolvedOptions()

  function wallTime(at: Date): { day: string; time: string } {
    const parts = Object.fromEntries(wallClock.formatToParts(at).map(({ type, value }) => [type, value]))
    const { year, month, day, hour, minute, second } = parts
    return { day: `${year}-${month}-${day}`, time: `${hour}:${minute}:${second}` }
  }

  function onOneLine(text: string): HTMLElement {
    const span = document.createElement('span')
    span.textContent = text
    return span
  }

  function localise(): void {
    for (const element of document.querySelectorAll<HTMLTimeElement>('time:not([data-utc])')) {
      const at = new Date(element.dateTime)
      const [utcDay, utcTime] = [at.toISOString().slice(0, 10), at.toISOString().slice(11, 19)]
      const { day, time } = wallTime(at)
      element.dataset.utc = element.textContent
      if (day === utcDay && time === utcTime) continue
      const utc = `${day === utcDay ? '' : `${utcDay} `}${utcTime} UTC`
      element.replaceChildren(onOneLine(`${day} ${time}`), ` ${timeZone} (`, onOneLine(utc), ')')
    }
  }

  // Time left, by how much of it the page was sent with: the clock of this device may be wrong.
  let timers: { element: HTMLElement; end: number }[] = []
  let ticking: number | undefined
  let before = Infinity
  const units: [string, number][] = [
    ['day', 86400],
    ['hour', 3600],
    ['minute', 60],
    ['second', 1],
  ]
  const announced = [300, 60, 30, 10]

  function startTimers(): void {
    const started = Date.now()
    // Those of the list are its own script's.
    timers = [...document.querySelectorAll<HTMLElement>('[data-left]:not(#list *)')].map((element) => ({
      element,
      end: started + Number(element.dataset.left),
    }))
    before = Infinity
    clearInterval(ticking)
    if (timers.length > 0) ticking = setInterval(tick, 1000)
  }

  function words(seconds: number): string {
    const parts: string[] = []
    for (const [unit, size] of units) {
      const count = Math.floor(seconds / size)
      seconds -= count * size
      if (count > 0) parts.push(`${count} ${unit}${count === 1 ? '' : 's'}`)
      else if (parts.length > 0) break
      if (parts.length === 2) break
    }
    return parts.join(' ')
  }

  function tick(): void {
    const now = Date.now()
    let isOver = false
    for (const { element, end } of timers) {
      const seconds = Math.max(0, Math.ceil((end - now) / 1000))
      const text = seconds > 0 ? `${words(seconds)} left` : 'The time is over'
      if (element.textContent !== text) element.textContent = text
      element.classList.toggle('soon', seconds <= 60)
      if (seconds === 0) isOver = true
      if (article !== null && timers[0]?.element === element) {
        const mark = announced.find((one) => before > one && seconds <= one)
        if (mark !== undefined && before !== Infinity && seconds > 0) say(`${words(seconds)} left to decide.`)
        before = seconds
      }
    }
    if (isOver) {
      say('The time is over.')
      clearInterval(ticking)
      void renewSoon()
    }
  }

  const longestPauseMs = 60_000
  const longer = (pauseMs: number) => Math.min(pauseMs * 2, longestPauseMs)

  async function renewSoon(): Promise<void> {
    let pauseMs = 1500
    do {
      await wait(pauseMs)
      pauseMs = longer(pauseMs)
    } while (!(await renew()))
  }

  function untilHidden(): AbortSignal {
    const controller = new AbortController()
    document.addEventListener('visibilitychange', () => controller.abort(), { once: true })
    return controller.signal
  }

  /** Asks whether the version is another one, as long as it can be. The server holds each question for a minute. */
  async function follow(): Promise<void> {
    let pauseMs = 1000
    while (article?.dataset.state && !isLeft) {
      // A browser keeps few connections to a server: a page that nobody sees leaves them to the others.
      while (document.hidden) {
        await new Promise((go) => document.addEventListener('visibilitychange', go, { once: true }))
      }
      const { version = '', state = '' } = article.dataset
      const question = new URL(state, location.href)
      question.searchParams.set('version', version)
      question.searchParams.set('wait', '60')
      const asked = Date.now()
      const signal = untilHidden()
      try {
        const answer = await fetch(question, { cache: 'no-store', headers: { accept: 'application/json' }, signal })
        if (answer.ok) {
          const news = (await answer.json()) as { version: number }
          const isNews = String(news.version) !== version
          pauseMs = isNews && !(await renew()) ? longer(pauseMs) : 1000
        } else if (answer.status < 500 && answer.status !== 429 && answer.status !== 408) {
          if (isLeft) return
          return tell('You are signed out, or this page is gone. It is not renewed any more: load it again.')
        } else pauseMs = longer(pauseMs)
      } catch {
        if (signal.aborted) continue
        pauseMs = longer(pauseMs)
      }
      if (Date.now() - asked < 5000) await wait(pauseMs)
    }
  }

  /** What the chosen verdict needs, the browser can ask for; the server does in any case. */
  function markRequired(): void {
    if (form === null) return
    const choice = form.querySelector<HTMLInputElement>('[name=verdict]:checked')?.value ?? ''
    const verdict = choice.startsWith('approve') ? 'approve' : choice
    for (const field of form.querySelectorAll<Field>('[data-needed-for]')) {
      const needed = field.dataset.neededFor?.split(' ') ?? []
      field.required = needed.includes(verdict) || needed.includes(choice)
    }
  }

  addEventListener('holdpoint:shown', localise)
  look()
  document.addEventListener('change', markRequired)
  addEventListener('holdpoint:forgotten', leave)
  void follow()
  // A page that the browser kept shows what stood when it was left.
  addEventListener('pageshow', (event) => {
    if (event.persisted && document.getElementById('list') === null) void renew()
  })
})()
