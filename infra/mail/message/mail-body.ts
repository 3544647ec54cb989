import { withoutEnd } from '../../../domain/text-end.ts';
import { decodeText } from './decode-text.ts';
import { joinFlowedLines } from './flowed-text.ts';
import { fieldOf } from './header-fields.ts';
import { parameterText } from './header-parameters.ts';
import { htmlToText } from './html-text.ts';
import type { MimePart } from './mime-tree.ts';
import { declaredType, nameForType, storedName } from './part-names.ts';
import { decodeTransfer, withoutAppendedText, withoutUuencoded } from './transfer-encoding.ts';

/** `declared` is the type by the sender. */
export type MailPart = { readonly filename: string; readonly declared: string; readonly bytes: Uint8Array };

/** What the sender has written, as a text and as HTML; null if there is none in this form. */
type Body = { readonly text: string | null; readonly html: string | null };

export type MailBody = { readonly text: string; readonly html: string | null; readonly files: readonly MailPart[] };

/** `root` is the message itself, `form` a part with one form of its body; a `resource` belongs to another part. */
type Place = 'root' | 'form' | 'part' | 'resource';
type Collect = { readonly hints: readonly string[]; readonly files: MailPart[] };

const NOTHING: Body = { text: null, html: null };

const META_CHARSET = /<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]{1,40})/i;
const META_BYTES = 4_096;

const fileName = ({ disposition, type }: MimePart, hints: readonly string[]): string | undefined => {
  const name = parameterText(disposition, 'filename', hints) ?? parameterText(type, 'name', hints);
  return name?.trim() || undefined;
};

const addFile = ({ hints, files }: Collect, part: MimePart): Body => {
  const bytes = decodeTransfer(part.body, part.encoding);
  const name = fileName(part, hints);
  const type = part.type.value;
  if (bytes.length > 0 || name !== undefined)
    files.push({ filename: storedName(name ?? nameForType(type), type), declared: declaredType(part), bytes: new Uint8Array(bytes) });
  return NOTHING;
};

/** If some bytes cannot be read, the part becomes a file, too, so that they are not lost. */
const textOfPart = ({ hints, files }: Collect, part: MimePart): string => {
  const { encoded, appended } = withoutAppendedText(part.body, part.encoding);
  const bytes = decodeTransfer(encoded, part.encoding);
  const isHtml = part.type.value === 'text/html';
  const inHtml = isHtml ? META_CHARSET.exec(bytes.toString('latin1', 0, META_BYTES))?.[1] : undefined;
  const text = decodeText(bytes, part.type.parameters.get('charset'), [...(inHtml === undefined ? [] : [inHtml]), ...hints]);
  if (text.includes('\ufffd'))
    files.push({ filename: isHtml ? 'original.html' : 'original.txt', declared: declaredType(part), bytes: new Uint8Array(bytes) });
  const footer = decodeText(appended, undefined, hints);
  return (footer.trim() === '' ? text : `${text}\n${footer}`).replace(/\r\n?/g, '\n');
};

const plainText = (collect: Collect, part: MimePart): string => {
  const { text, files } = withoutUuencoded(textOfPart(collect, part));
  for (const { filename, bytes } of files)
    collect.files.push({ filename, declared: 'application/octet-stream', bytes: new Uint8Array(bytes) });
  const { parameters } = part.type;
  if (!/^flowed$/i.test(parameters.get('format') ?? '')) return text;
  return joinFlowedLines(text, /^yes$/i.test(parameters.get('delsp') ?? ''));
};

/** Returns whether a part with words is a file: it says so, or has a name of a file. A form of the body may have a name. */
const isFile = ({ disposition, type }: MimePart, place: Place): boolean => {
  const hasName = [...disposition.parameters.keys()].some((key) => /^filename\b/.test(key));
  if (disposition.value === 'attachment' || hasName) return true;
  return place === 'part' && [...type.parameters.keys()].some((key) => /^name\b/.test(key));
};

const canHoldWords = (part: MimePart): boolean =>
  part.type.value.startsWith('multipart/') || (/^text\/(?:plain|html)$/.test(part.type.value) && !isFile(part, 'form'));

/** Texts that are files, even if they are all that a message has. */
const NO_BODY = /^text\/(?:calendar|csv|x?-?vcard|directory|x-vcalendar|rtf)$/;

const leaf = (collect: Collect, part: MimePart, place: Place): Body => {
  const type = part.type.value;
  const isText = type === 'text/plain' || type === 'text/html' || (place === 'root' && type.startsWith('text/') && !NO_BODY.test(type));
  if (place === 'resource' || !isText || isFile(part, place)) return addFile(collect, part);
  return type === 'text/html' ? { text: null, html: textOfPart(collect, part) } : { text: plainText(collect, part), html: null };
};

/** Returns whether a text has only spaces and characters that are not shown, such as those that newsletters fill a form with. */
const isBlank = (text: string | null): boolean => text === null || /^[\s\p{Cf}\p{Default_Ignorable_Code_Point}]*$/u.test(text);

/** Returns the words of a body as a text. A blank plain text does not count. */
const wordsOf = ({ text, html }: Body): string => withoutEnd(isBlank(text) && html !== null ? htmlToText(html) : (text ?? ''), /\n/);

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

const asHtml = ({ text, html }: Body): string =>
  html ?? `<div style="white-space: pre-wrap">${(text ?? '').replace(/[&<>]/g, (one) => ESCAPES[one]!)}</div>`;

/** Joins texts that follow each other, such as those before and after a picture. */
const joinBodies = (bodies: readonly Body[]): Body => {
  const shown = bodies.filter(({ text, html }) => !isBlank(text) || !isBlank(html));
  if (shown.length <= 1) return shown[0] ?? NOTHING;
  const hasText = shown.some(({ text }) => text !== null);
  const hasHtml = shown.some(({ html }) => html !== null);
  const words = hasText ? shown.map(wordsOf).filter((text) => text !== '') : [];
  return { text: hasText ? words.join('\n\n') : null, html: hasHtml ? shown.map(asHtml).join('\n') : null };
};

/** Returns the body of the forms of one message. Each form counts once; other texts beside them follow. */
const chooseForms = (bodies: readonly Body[]): Body => {
  const texts = [...new Set(bodies.map(({ text }) => text).filter((text) => text !== null && !isBlank(text)))];
  const htmls = [...new Set(bodies.map(({ html }) => html).filter((html) => !isBlank(html)))];
  return {
    text: texts.length > 0 ? texts.join('\n\n') : (bodies.find(({ text }) => text !== null)?.text ?? null),
    html: htmls.length > 0 ? htmls.join('\n') : null,
  };
};

const withoutBrackets = (id: string | undefined): string | undefined => id?.trim().replace(/^<|>$/g, '');

/**
 * The index of the child that the others belong to (RFC 2387), or that is signed (RFC 1847); -1 if there is none. If the
 * child that should be it has no words, such as a picture that comes first, it is the first one that can have some.
 */
const mainChild = ({ type, children }: MimePart): number => {
  if (type.value === 'multipart/signed') return 0;
  if (type.value !== 'multipart/related') return -1;
  const start = withoutBrackets(type.parameters.get('start'));
  const named = start === undefined ? 0 : children.findIndex(({ fields }) => withoutBrackets(fieldOf(fields, 'content-id')) === start);
  const index = Math.max(0, named);
  return children.slice(index, index + 1).some(canHoldWords) ? index : Math.max(0, children.findIndex(canHoldWords));
};

/** `isMain` is null if the part has no main child. */
const placeOf = (parent: MimePart, isMain: boolean | null, place: Place): Place => {
  if (place === 'resource') return place;
  if (parent.type.value === 'multipart/alternative' || isMain) return 'form';
  return isMain === null ? 'part' : 'resource';
};

const bodyOf = (collect: Collect, part: MimePart, place: Place): Body => {
  const { value } = part.type;
  if (!value.startsWith('multipart/')) return leaf(collect, part, place);
  const main = mainChild(part);
  const bodies = part.children.map((child, index) => bodyOf(collect, child, placeOf(part, main < 0 ? null : index === main, place)));
  return value === 'multipart/alternative' ? chooseForms(bodies) : joinBodies(bodies);
};

/** Files are all parts that are not the body. `hints` are the charsets that the message names. */
export const mailBody = (root: MimePart, hints: readonly string[]): MailBody => {
  const files: MailPart[] = [];
  const body = bodyOf({ hints, files }, root, 'root');
  return { text: wordsOf(body), html: isBlank(body.html) ? null : body.html, files };
};
