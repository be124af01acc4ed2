// The list's script: it keeps the list as the server has it, and says what is new, in the title, on the icon and to a screen
// reader. What somebody uses does not move. Everything can be seen without it, by loading the page again. It never decides
// anything. Compiled to a classic script: no imports.

;(() => {
  const begun = document.getElementById('list')
  if (begun === null) return
  let list: HTMLElement = begun
  /** The list as the server has it, as long as what is shown is in use. */
  let awaited: HTMLElement | null = null

  const byId = (id: string) => document.getElementById(id)
  const wait = (ms: number) => new Promise((go) => setTimeout(go, ms))
  const itemsOf = (of: Element) => [...of.querySelectorAll<HTMLElement>('.pending-list > li')]
  const endedOf = (of: Element) => [...of.querySelectorAll<HTMLElement>('.ended-list > li')]
  const idOf = (item: Element) => item.id.replace(/^(item|ended)-/, '')
  const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`

  // -- Time, by what the page was sent with: the clock of this device may be wrong.

  const units: [string, number][] = [
    ['day', 86400],
    ['hour', 3600],
    ['minute', 60],
    ['second', 1],
  ]

  function inWords(seconds: number, most: number): string {
    const words: string[] = []
    for (const [unit, size] of units) {
      const count = Math.floor(seconds / size)
      seconds -= count * size
      if (count > 0) words.push(counted(count, unit))
      if (words.length === most || (count === 0 && words.length > 0)) break
    }
    return words.join(' ')
  }

  /** When it ends, or began, by the clock of this device. */
  function startTimes(of: Element): void {
    const now = Date.now()
    for (const one of of.querySelectorAll<HTMLElement>('[data-left]')) {
      one.dataset.end = String(now + Number(one.dataset.left))
    }
    for (const one of of.querySelectorAll<HTMLElement>('[data-age]')) {
      one.dataset.since = String(now - Number(one.dataset.age))
    }
  }

  function write(element: HTMLElement, text: string): void {
    if (element.textContent !== text) element.textContent = text
  }

  function runTimes(): void {
    const now = Date.now()
    for (const one of list.querySelectorAll<HTMLElement>('[data-end]')) {
      const seconds = Math.max(0, Math.ceil((endOf(one) - now) / 1000))
      write(one, seconds > 0 ? `${inWords(seconds, 2)} left` : 'The time is over')
      one.classList.toggle('soon', seconds <= 60)
    }
    for (const one of list.querySelectorAll<HTMLElement>('[data-since]')) {
      const seconds = Math.floor((now - Number(one.dataset.since)) / 1000)
      write(one, seconds < 5 ? 'just now' : `${inWords(seconds, 1)} ago`)
    }
    for (const item of itemsOf(list)) {
      item.classList.toggle('new', now - (cameAt.get(idOf(item)) ?? -Infinity) < newMs)
    }
  }

  const endOf = (of: HTMLElement) => Number(of.dataset.end)
  const deadlineOf = (item: Element) => Number(item.querySelector<HTMLElement>('[data-end]')?.dataset.end ?? -Infinity)
  const sinceOf = (item: Element) => Number(item.querySelector<HTMLElement>('[data-since]')?.dataset.since ?? -Infinity)

  // -- What somebody uses stays where it is: what ended stays too and says so, and what comes is put behind it. A pointer that
  // lies still is nobody's.

  const calmMs = 5000
  let touchedAt = -Infinity
  let pointedAt = ''
  const isInUse = () => !document.hidden && Date.now() - touchedAt < calmMs

  function touch(event: Event): void {
    // What moves under a pointer does not move it.
    if (event instanceof PointerEvent && event.type === 'pointermove') {
      const place = `${event.screenX} ${event.screenY}`
      if (place === pointedAt) return
      pointedAt = place
    }
    touchedAt = Date.now()
  }

  function isInSight(element: Element | null): boolean {
    if (element === null) return false
    const { top, bottom } = element.getBoundingClientRect()
    return bottom > 0 && top < innerHeight
  }

  function settle(): void {
    if (awaited === null) return
    if (!isInUse()) return show(awaited)
    endInPlace(awaited)
    changeInPlace(awaited)
    // What is below would be moved.
    if (!isInSight(list.querySelector('section'))) addBehind(awaited)
    sum()
  }

  /** As the server has it. What has the focus keeps it and its place; or the first item in sight does, after scrolling. */
  function show(fresh: HTMLElement): void {
    const order = () => itemsOf(list).map(idOf).join()
    const before = order()
    const focused = list.contains(document.activeElement) ? document.activeElement : null
    const inUse = itemsOf(list).find((one) => focused !== null && one.contains(focused) && hasItem(fresh, one))
    const anchor = inUse ?? (scrollY > 0 ? [...itemsOf(list), ...endedOf(list)].find(isInSight) : undefined)
    const place = anchor?.getBoundingClientRect().top ?? 0
    list.replaceWith(fresh)
    list = fresh
    awaited = null
    outOfOrder.clear()
    if (focused !== null) focusAgain(focused)
    const same = anchor === undefined ? null : byId(anchor.id)
    if (same !== null) scrollBy(0, same.getBoundingClientRect().top - place)
    if (order() !== before) movedAt = Date.now()
    runTimes()
    sum()
  }

  const hasItem = (of: Element, item: Element) => itemsOf(of).some(({ id }) => id === item.id)

  /** On the same request, also where it has ended. */
  function focusAgain(old: Element): void {
    const item = old.closest('li')
    const same = item === null ? list.querySelector('.more') : (byId(item.id) ?? byId(`ended-${idOf(item)}`))
    same?.querySelector('a')?.focus({ preventScroll: true })
  }

  function endInPlace(fresh: HTMLElement): void {
    const waiting = itemsOf(fresh)
    const last = waiting.at(-1)
    const goesOn = last !== undefined && fresh.querySelector('.more') !== null
    for (const item of itemsOf(list)) {
      if (item.classList.contains('ended') || waiting.some(({ id }) => id === item.id)) continue
      const how = endedOf(fresh)
        .find((one) => idOf(one) === idOf(item))
        ?.querySelector('.how')
      // It may only stand on the next page by now.
      if (!how && goesOn && deadlineOf(item) >= deadlineOf(last)) continue
      const times = item.querySelector<HTMLElement>('.times')!
      times.style.height = `${times.getBoundingClientRect().height}px`
      if (how) times.replaceChildren(...[...how.childNodes].map((one) => one.cloneNode(true)))
      else times.textContent = 'It does not wait any more.'
      item.classList.add('ended')
    }
  }

  /** Nothing but the votes changes while it waits. */
  function changeInPlace(fresh: HTMLElement): void {
    for (const item of itemsOf(list)) {
      const other = itemsOf(fresh).find(({ id }) => id === item.id)
      if (other === undefined || other.dataset.version === item.dataset.version) continue
      item.dataset.version = other.dataset.version
      item.querySelector('.who')!.replaceWith(other.querySelector('.who')!.cloneNode(true))
    }
  }

  function addBehind(fresh: HTMLElement): void {
    const there = new Set(itemsOf(list).map(idOf))
    const come = itemsOf(fresh).filter((one) => !there.has(idOf(one)))
    if (come.length === 0) return
    let place = list.querySelector('.pending-list')
    if (place === null) {
      place = fresh.querySelector('.pending-list')!.cloneNode(false) as Element
      list.querySelector('.empty')!.replaceWith(place)
    }
    place.append(...come.map((one) => one.cloneNode(true)))
    for (const one of come) outOfOrder.add(idOf(one))
    runTimes()
  }

  /** Put behind the others, and there as long as those are in use. */
  const outOfOrder = new Set<string>()
  const isBehind = (item: Element) => outOfOrder.has(idOf(item)) && !item.classList.contains('ended')
  const summaryOf = (of: Document) => of.querySelector('#summary > span')?.textContent?.trim() ?? ''
  let summary = summaryOf(document)
  /** As long as the page without a script says it. */
  const missedMs = 600_000
  const isMissed = (item: Element) => item.matches('.expired') && Date.now() - sinceOf(item) < missedMs

  /** How many wait; where those are that were put behind the others; and whether nobody decided in time. */
  function sum(): void {
    const behind = itemsOf(list).filter(isBehind)
    const missed = endedOf(list).filter(isMissed)
    const parts: HTMLElement[] = [Object.assign(document.createElement('span'), { textContent: summary })]
    if (behind.length > 0) parts.push(linkTo(behind[0]!.id, `${behind.length} new at the end.`))
    if (missed.length > 0) {
      parts.push(linkTo('ended-title', `${missed.length === 1 ? '1' : 'Several'} expired lately.`))
    }
    const place = byId('summary')!
    const text = (of: Element[]) => of.map(({ textContent }) => textContent?.trim()).join(' ')
    if (text([...place.children]) !== text(parts)) place.replaceChildren(...parts.flatMap((one) => [one, ' ']))
  }

  function linkTo(id: string, textContent: string): HTMLElement {
    return Object.assign(document.createElement('a'), { href: `#${id}`, textContent })
  }

  /** A press right after the list has moved may be meant for what stood there before. */
  const surpriseMs = 500
  let movedAt = -Infinity
  let isSurprise = false

  function guard(event: MouseEvent): void {
    if (isSurprise && event.detail > 0 && list.contains(event.target as Node)) event.preventDefault()
    isSurprise = false
  }

  // -- What is new

  const newMs = 60_000
  /** What clocks and ways may differ by. */
  const slackMs = 2000
  const known = new Set([...itemsOf(list), ...endedOf(list)].map(idOf))
  const cameAt = new Map<string, number>()
  let loadedAt = Date.now()
  let count = Number(list.dataset.count)

  /** What was already there may only have moved up from a later page. */
  function isNews(item: HTMLElement): boolean {
    return !known.has(idOf(item)) && sinceOf(item) >= loadedAt - slackMs
  }

  function tellNews(fresh: HTMLElement): void {
    const come = itemsOf(fresh).filter(isNews)
    const missed = endedOf(fresh).filter((one) => isNews(one) && one.classList.contains('expired'))
    const waited = new Set(itemsOf(list).map(idOf))
    const ended = endedOf(fresh).filter((one) => waited.has(idOf(one)) && !told.has(idOf(one)))
    const before = count
    count = Number(fresh.dataset.count)
    loadedAt = Date.now()
    for (const one of come) cameAt.set(idOf(one), loadedAt)
    for (const one of [...itemsOf(fresh), ...endedOf(fresh)]) known.add(idOf(one))
    for (const one of ended) told.add(idOf(one))
    const goesOn = fresh.querySelector('.more') !== null
    const more = goesOn ? Math.max(come.length, count - before) : come.length
    const words = ({ dataset }: HTMLElement) => ({ action: dataset.action, requester: dataset.requester })
    const detail = { count, more, come: come.map(words), missed: missed.map(words) }
    document.dispatchEvent(new CustomEvent('holdpoint-news', { detail }))
    unsaid.come += more
    unsaid.ended += ended.length + missed.length
  }

  /** Whose end was counted. */
  const told = new Set<string>()
  const unsaid = { come: 0, ended: 0 }
  const sayEveryMs = 5000
  let saidAt = -Infinity

  /** A screen reader is told all that is new at once, and not too often. */
  function sayNews(): void {
    const { come, ended } = unsaid
    if (come + ended === 0 || Date.now() - saidAt < sayEveryMs) return
    const parts = [
      come === 0 ? '' : `${counted(come, 'new request')}.`,
      ended === 0 ? '' : `${counted(ended, 'request')} ended.`,
      count === 0 ? 'Nothing waits.' : `${count} ${count === 1 ? 'waits' : 'wait'}.`,
    ]
    const spoken = byId('spoken')
    if (spoken !== null) spoken.textContent = parts.filter((one) => one !== '').join(' ')
    Object.assign(unsaid, { come: 0, ended: 0 })
    saidAt = Date.now()
  }

  // -- Asking, as long as this page is open

  const heldSeconds = 60
  const freshness = byId('freshness')!
  let failingSince: number | null = null

  function sayFreshness(): void {
    if (failingSince === null) return write(freshness, 'This list keeps itself up to date.')
    const seconds = Math.floor((Date.now() - failingSince) / 1000)
    write(freshness, `No connection${seconds === 0 ? '' : ` for ${inWords(seconds, 1)}`}; trying again.`)
    freshness.classList.add('stale')
  }

  function noteContact(isGood: boolean): void {
    failingSince = isGood ? null : (failingSince ?? Date.now())
    freshness.classList.toggle('stale', !isGood)
    sayFreshness()
  }

  /** By XMLHttpRequest, which makes a document without any of the ways to make one that pages are kept from. */
  function load(): Promise<XMLHttpRequest> {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest()
      request.open('GET', location.pathname)
      request.responseType = 'document'
      request.timeout = 30_000
      request.onload = () => resolve(request)
      request.onerror = request.ontimeout = () => reject(new Error('the list could not be loaded'))
      request.send()
    })
  }

  /** Whether it came to that. Where there is another page by now, that one is gone to. */
  async function renew(): Promise<boolean> {
    const answer = await load()
    if (answer.status >= 500 || answer.status === 429) return false
    const loaded = answer.response as Document | null
    const fresh = loaded?.getElementById('list') ?? null
    if (loaded === null || fresh === null || new URL(answer.responseURL).pathname !== location.pathname) {
      location.replace(location.pathname)
      return true
    }
    startTimes(fresh)
    tellNews(fresh)
    document.title = loaded.title
    summary = summaryOf(loaded)
    const icon = loaded.querySelector<HTMLLinkElement>('link[rel=icon]')?.getAttribute('href')
    if (icon) document.querySelector('link[rel=icon]')!.setAttribute('href', icon)
    awaited = document.adoptNode(fresh)
    mark = fresh.dataset.mark
    settle()
    sayNews()
    return true
  }

  let mark = list.dataset.mark

  /** Whether there was news, or the server held the question: if not, it is not to be asked again at once. */
  async function ask(seconds: number, given: AbortController): Promise<boolean> {
    // A connection may be gone without anybody being told.
    const timer = setTimeout(() => given.abort(), (heldSeconds + 15) * 1000)
    try {
      return await askNow(seconds, given.signal)
    } finally {
      clearTimeout(timer)
    }
  }

  async function askNow(seconds: number, signal: AbortSignal): Promise<boolean> {
    const question = new URL(list.dataset.state!, location.href)
    question.searchParams.set('mark', mark ?? '')
    question.searchParams.set('wait', String(seconds))
    const asked = Date.now()
    const answer = await fetch(question, { cache: 'no-store', headers: { accept: 'application/json' }, signal })
    if (answer.status === 401 || answer.status === 403) {
      document.dispatchEvent(new CustomEvent('holdpoint-signed-out'))
      location.replace(location.pathname)
      return false
    }
    if (!answer.ok) throw new Error(`the service answered ${answer.status}`)
    const news = (await answer.json()) as { mark: string }
    noteContact(true)
    const isNews = news.mark !== mark
    const isPaced = isNews ? await renew() : Date.now() - asked > 5000
    if (seconds > 0) tellOthers()
    return isPaced
  }

  const hiddenPauseMs = 15_000
  const longestPauseMs = 30_000

  /** Over sooner when it is given up. */
  function pause(ms: number, { signal }: AbortController): Promise<unknown> {
    return Promise.race([wait(ms), new Promise((go) => signal.addEventListener('abort', go))])
  }

  /** Whoever is no leader is held only while it is seen. */
  async function askForEver(isLeader: boolean): Promise<void> {
    let pauseMs = 1000
    for (;;) {
      const given = new AbortController()
      const wasHidden = document.hidden
      const mayBeHeld = isLeader || !wasHidden
      const giveUp = () => isLeader || given.abort()
      document.addEventListener('visibilitychange', giveUp)
      try {
        const isPaced = await ask(mayBeHeld ? heldSeconds : 0, given)
        if (!isPaced) await pause(mayBeHeld ? 1000 : hiddenPauseMs, given)
        pauseMs = 1000
      } catch {
        if (!isLeader && wasHidden !== document.hidden) continue
        noteContact(false)
        tellOthers()
        await pause(pauseMs, given)
        pauseMs = Math.min(2 * pauseMs, longestPauseMs)
      } finally {
        document.removeEventListener('visibilitychange', giveUp)
      }
    }
  }

  /** The lists in other tabs and windows of this browser. */
  const others = new BroadcastChannel('holdpoint.list')

  function tellOthers(): void {
    others.postMessage({ mark, isGood: failingSince === null })
  }

  others.onmessage = ({ data }: MessageEvent<{ mark: string; isGood: boolean }>) => {
    noteContact(data.isGood)
    if (data.isGood && data.mark !== mark) void renewNow()
  }

  async function renewNow(): Promise<void> {
    await renew().catch(() => noteContact(false))
  }

  /** Once, at once: what the leader has told before, nobody tells again. */
  async function catchUp(): Promise<void> {
    await ask(0, new AbortController()).catch(() => noteContact(false))
  }

  /**
   * A browser keeps few connections to a server: of all the lists in it one leads, is held, and tells the others. Browsers
   * have locks where the page came by https, or from this machine; elsewhere each asks for itself.
   */
  async function follow(): Promise<void> {
    const locks = navigator.locks as LockManager | undefined
    if (locks === undefined) return askForEver(false)
    void catchUp()
    document.addEventListener('visibilitychange', () => void (document.hidden || catchUp()))
    await locks.request('holdpoint.list', () => askForEver(true))
  }

  // -- Go

  startTimes(list)
  runTimes()
  setInterval(() => {
    settle()
    runTimes()
    sum()
    sayNews()
    if (failingSince !== null) sayFreshness()
  }, 1000)
  for (const event of ['pointerdown', 'pointermove', 'wheel', 'scroll', 'keydown']) {
    addEventListener(event, touch, { capture: true, passive: true })
  }
  addEventListener('pointerdown', () => (isSurprise = Date.now() - movedAt < surpriseMs), { capture: true })
  addEventListener('click', guard, { capture: true })
  if (list.dataset.state !== undefined) {
    noteContact(true)
    void follow()
    // One that the browser kept shows what stood when it was left.
    addEventListener('pageshow', ({ persisted }) => void (persisted && renewNow()))
  }
})()
