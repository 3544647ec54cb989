/** Zero-width characters, direction marks, tags and variation selectors. */
export const INVISIBLE = /\p{DI}/gu;

/** Look like the Latin letters at the same places in LATIN. */
const ALIKE = 'асԁеһіјӏорԛѕтԝхуүкмнвαειοκνρτυχηωбԍգցɡıᴏᴀɪѵʏĸ';
const LATIN = 'acdehijlopqstwxyykmhbaeiokvptuxnwbggggioaivyk';
const LATIN_OF: ReadonlyMap<string, string> = new Map([...ALIKE].map((letter, index) => [letter, LATIN[index]!]));
const ALIKE_LETTER = new RegExp(`[${ALIKE}]`, 'gu');
const MIXED_WORD =
  /[a-z][\u0370-\u052f\u0560-\u058f\u0250-\u02af\u1d00-\u1d2b]|[\u0370-\u052f\u0560-\u058f\u0250-\u02af\u1d00-\u1d2b][a-z]/;

const LETTER_OF_DIGIT: Readonly<Record<string, string>> = { 0: 'o', 1: 'i', 3: 'e', 4: 'a', 5: 's', 7: 't', '@': 'a', $: 's', '!': 'i' };

const isAscii = (text: string): boolean => /^\p{ASCII}*$/u.test(text);

const toWords = (text: string): string => text.replace(/[^\p{L}\p{N}\p{M}]+/gu, ' ').trim();

/** Lower case, without invisible characters and accents; equivalent characters have one form. */
const folded = (text: string): string => {
  if (isAscii(text)) return text.toLowerCase();
  const plain = text
    .replace(INVISIBLE, '')
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .toLowerCase();
  return MIXED_WORD.test(plain) ? plain.replace(ALIKE_LETTER, (letter) => LATIN_OF.get(letter)!) : plain;
};

const SPACED_LETTERS = /(?<![a-z])[a-z](?:([ .\-_*])[a-z](?![a-z])){5,}/;

const LETTERS_APART = /(?<![a-z])[a-z](?:[ .\-_*]{1,4}[a-z](?![a-z])){3,}/g;

/** Joins letters that are written apart. Removes the separator between the first two everywhere; any other becomes a space between words. */
const joined = (text: string): string =>
  text.replace(LETTERS_APART, (letters) => {
    const separator = /^.([^a-z]+)/.exec(letters)![1]!;
    return letters.replace(/[^a-z]+/g, (found) => (found === separator ? '' : ' '));
  });

const DIGIT_IN_WORD = /[a-z][0134570@$!]+[a-z]|(?<![\w@$!])[0134570@$!][a-z]{2}/;

/** As written, with digits read as letters, and with separated letters joined; each in lower case with one space between words. */
export const normalTexts = (text: string): readonly string[] => {
  const plain = folded(text);
  const readings = [plain];
  if (DIGIT_IN_WORD.test(plain)) readings.push(plain.replace(/[0134570@$!]/g, (digit) => LETTER_OF_DIGIT[digit]!));
  if (SPACED_LETTERS.test(plain)) readings.push(joined(plain));
  return readings.map(toWords);
};
