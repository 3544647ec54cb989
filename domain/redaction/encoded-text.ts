/** Words that are typical of instructions to a language model. A text is decoded only if it contains an encoded form of one of them. */
const KEYWORDS = ['ignore', 'disregard', 'instructions', 'system prompt', 'previous', 'override', 'reveal'];

const capitalized = (word: string): string => word[0]!.toUpperCase() + word.slice(1);
const spellings = KEYWORDS.flatMap((word) => [word, capitalized(word), word.toUpperCase()]);

/** For each place of the first byte in a group of three, the characters of the Base64 form that depend on the word only. */
const base64Cores = (word: string): string[] =>
  [0, 1, 2].map((offset) => {
    const encoded = Buffer.from('\0'.repeat(offset) + word)
      .toString('base64')
      .replace(/=+$/, '');
    const complete = Math.floor(((offset + word.length) * 8) / 6);
    return encoded.slice(offset === 0 ? 0 : offset + 1, complete);
  });

const rot13 = (text: string): string =>
  text.replace(/[a-z]/gi, (letter) => {
    const base = letter <= 'Z' ? 65 : 97;
    return String.fromCharCode(((letter.charCodeAt(0) - base + 13) % 26) + base);
  });
const reversed = (text: string): string => [...text].reverse().join('');
const hexOf = (text: string): string => Buffer.from(text).toString('hex');

const BASE64_CORES = [...new Set(spellings.flatMap(base64Cores))];
const HEX_CORES = [...new Set(spellings.flatMap((word) => [hexOf(word), hexOf(word).toUpperCase()]))];
const ROT13_WORDS = KEYWORDS.map(rot13);
const REVERSED_WORDS = KEYWORDS.map(reversed);

/** Every text that `decodedTexts` can decode to instructions contains one of these. */
export const ENCODED_LITERALS = { exact: [...BASE64_CORES, ...HEX_CORES], words: [...ROT13_WORDS, ...REVERSED_WORDS] };

const MAX_DECODED = 65_536;
const BASE64_RUN = /[A-Za-z0-9+/_-]{16,65536}={0,2}/g;
const HEX_RUN = /(?:(?:\\x|0x|%)?[0-9a-fA-F]{2}[\s:,]?){12,32768}/g;
const ESCAPED = /%[4-7][0-9a-f](?:%[0-9a-f]{2}){3}|&#x?\d{2,3};(?:&#x?[\da-f]{2,3};){3}|\\u00[2-7][0-9a-f]|\\x[2-7][0-9a-f]\\x/i;

const containsOne = (text: string, words: readonly string[]): boolean => words.some((word) => text.includes(word));

const decodeHex = (run: string): string => Buffer.from(run.replace(/\\x|0x|[^0-9a-fA-F]/g, ''), 'hex').toString();

const unescaped = (text: string): string =>
  text
    .replace(/%([2-7][0-9a-f])|\\u00([2-7][0-9a-f])|\\x([2-7][0-9a-f])|&#x([\da-f]{2});/gi, (_, ...hex: (string | undefined)[]) =>
      String.fromCharCode(Number.parseInt(hex.slice(0, 4).find((one) => one !== undefined)!, 16)),
    )
    .replace(/&#(\d{2,3});/g, (_, code: string) => String.fromCharCode(Number(code)));

/** Base64, hex digits, escapes, rotation by 13 letters, and reversed text. */
export const decodedTexts = (text: string): readonly string[] => {
  const lowered = text.toLowerCase();
  return [
    ...(containsOne(text, BASE64_CORES) ? (text.match(BASE64_RUN) ?? []).filter((run) => containsOne(run, BASE64_CORES)) : []).map((run) =>
      Buffer.from(run, 'base64').toString().slice(0, MAX_DECODED),
    ),
    ...(containsOne(text, HEX_CORES) ? (text.match(HEX_RUN) ?? []) : []).map(decodeHex),
    ...(ESCAPED.test(text) ? [unescaped(text)] : []),
    ...(containsOne(lowered, ROT13_WORDS) ? [rot13(text)] : []),
    ...(containsOne(lowered, REVERSED_WORDS) ? [reversed(text)] : []),
  ];
};
