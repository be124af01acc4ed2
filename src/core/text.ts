// Text that agents wrote, made safe to show to people: nothing invisible, nothing that reorders, nothing unbounded.

/**
 * Controls, format characters (bidirectional ones among them), whatever is drawn as nothing, lone surrogates. Joiners and
 * variation selectors only beside ASCII, because emoji and many scripts need them.
 */
export const hidden =
  /(?![\n\t])\p{Cc}|\p{Cs}|[\u2028\u2029\u2800]|(?![\u200c\u200d\ufe0e\ufe0f])[\p{Cf}\p{DI}]|(?<=[ -~])[\u200c\u200d\ufe0e\ufe0f]|[\u200c\u200d](?=[ -~])/gu

/** Whether anything of it is drawn: more than spaces, controls and what else leaves no trace. */
export function canBeSeen(text: string): boolean {
  return /[^\s\p{Z}\p{Cc}\p{Cf}\p{Cs}\p{DI}\u2800]/u.test(text)
}

/** Puts what `write` answers in the place of each control, zero-width and bidirectional character, but newline and tab. */
export function replaceHidden(text: string, write: (character: string) => string): string {
  return text.replace(hidden, (character) => write(character))
}

/** Writes each control, zero-width and bidirectional character as \u{hex}; newlines and tabs stay. */
export function visible(text: string): string {
  return replaceHidden(text, escapeCharacter)
}

/** The same on one line: newlines and tabs are written out too. */
export function visibleLine(text: string): string {
  return visible(text).replace(/[\n\t]/g, escapeCharacter)
}

/** Cuts to at most `limit` UTF-16 units, never inside a character, with a mark that says how much is missing. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text
  const mark = (missing: number) => `… [cut: ${missing} more characters]`
  let end = Math.max(0, limit - mark(text.length).length)
  const last = text.charCodeAt(end - 1)
  if (last >= 0xd800 && last <= 0xdbff) end -= 1
  return text.slice(0, end) + mark(text.length - end)
}

function escapeCharacter(character: string): string {
  if (character === '\n') return '\\n'
  if (character === '\t') return '\\t'
  return `\\u{${character.codePointAt(0)!.toString(16)}}`
}

// What is drawn like an ASCII letter: with strokes, hooks and tails, small or turned, of other scripts. A capital stands here
// only where it is drawn like another letter than its small one. Lines drawn alike count as l, and rings as o.
const drawnLike = {
  a: 'ɐɑᴀᶏⱥαΛаⲁꭺꓮ',
  b: 'ƀƃɓʙᴃᵬᶀꞗβвьъҍⲃᏼꮟꓐ',
  c: 'ƈȼɕᴄↄꜿꞓꞔςΣсҫⲥꮯꓚ',
  d: 'đƌȡɖɗᴅᵭᶁᶑꝺꟈδԁԃꭰꮷꓓ',
  e: 'ǝɇɘəɛɜɝɞʚᴇᴈᶒᶓᶔⱸⱻꬲꬳꬴεеєҽҿⲉꭼꓰ',
  f: 'ƒᵮᶂꜰꝼꞙꬵғꓝ',
  g: 'ǥɠɡɢʛᵷᵹᶃꝿꞡꟑꬶԍցꮐᏻꓖ',
  h: 'ħɥɦʜʮʯⱨⱶꞕꟶΗнһңҥӈӊհⲏꮋꮒꓧ',
  j: 'ȷɉɟʄʝᴊϳјյꭻꓙ',
  k: 'ƙĸʞᴋᶄⱪꝁꝃꝅꞣκкқҝҟҡӄⲕꮶꓗ',
  l: 'i1łƚȴɫɬɭʟᴌᶅⱡꝉꞁꞎꬷꬸꬹıɨɩɪᴉᵻᵼᶖǀιіӏլւԼⲓꮮꭵꓡꓲ',
  m: 'ɯɰɱᴍᴟᵯᶆꟺꬺΜмӎⲙꮇꓟ',
  n: 'ŋƞȵɲɳɴᴎᵰᶇꞑꞥꬻηΝпԥոռղⲛⲡꓠ',
  o: '0øɔɵᴏᴑᴒᴓᶗⱺꝋꝍꬽꬾꬿοσθоөօⲟꓳ०০੦೦๐໐',
  p: 'ƥᴘᵱᵽᶈꝑꝓꝕρрҏքⲣꮲꓑ',
  q: 'ɋʠꝗꝙꞯԛգզ',
  r: 'ɍɹɺɻɼɽɾɿʀʁᴙᴚᵲᵳᶉⱹꞃꞧꭅꭆꭉꭋꭌꭨгґⲅꭱꮢꓣ',
  s: 'ȿʂᵴᶊẜẝꜱꞅꞩꟊѕՏꮪꮥꓢ',
  t: 'ŧƫƭȶʇʈᴛᵵⱦꞇτтҭⲧꭲꓔ',
  u: 'ʉᴜᴝᵾᶙꞹꭎꭒυμцսնꓴ',
  v: 'ʋʌᴠᶌⱱⱴꝟνѵꮩꓦ',
  w: 'ʍᴡⱳꟃωԝшѡաⲱꮃꮤꓪ',
  x: 'ᶍꭖꭗꭘꭙχхҳӽӿⲭꓫ',
  y: 'ƴɏʎʏỿꭚγΥуүұⲩꭹꮍꓬ',
  z: 'ƶȥɀʐʑᴢᵶᶎⱬζԅⲍꮓꓜ',
}
const lookAlikes = new Map(
  Object.entries(drawnLike).flatMap(([ascii, letters]) => [...letters].map((letter) => [letter, ascii] as const)),
)

/** What a name comes down to when case, accents, width, separators, invisible marks and look-alikes are ignored. */
export function skeleton(name: string): string {
  const bare = name.normalize('NFKD').replace(/[\p{M}\p{C}\p{DI}\p{Z}\p{P}\p{S}]/gu, '')
  return Array.from(bare, plain).join('')
}

function plain(letter: string): string {
  const small = letter.toLowerCase()
  return lookAlikes.get(letter) ?? lookAlikes.get(small) ?? small
}
