import type { MailContent } from '../mail/content.ts';
import { contentIn } from './mail-delivery.ts';

const redactedIn = (text: string | null): number => text?.match(/\[redacted:/g)?.length ?? 0;

/** Removes the HTML if fewer parts were replaced in it than in the text: tags can divide a word, so that a pattern does not match it. */
export const withoutSplitMatches = (original: MailContent, redacted: Uint8Array): Uint8Array => {
  const content = contentIn(redacted);
  const inText = redactedIn(content.text) - redactedIn(original.text);
  const inHtml = redactedIn(content.html) - redactedIn(original.html);
  if (content.html === null || inText <= inHtml) return redacted;
  return new TextEncoder().encode(JSON.stringify({ ...content, html: null }));
};
