// Names that look alike: what each comes down to.

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
