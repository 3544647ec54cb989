import { findSecrets } from './find-secrets.ts';
import { findCards } from './payment-card.ts';
import { findEmails, findPhones } from './personal-data.ts';
import { type PlainText, plainTextOf } from './plain-text.ts';
import { type RedactionHit, sumHits } from './redaction-patterns.ts';
import { hitsOf, replaceSpans, type Span, withoutOverlaps } from './span.ts';

/**
 * The built-in detectors. `secrets` detects keys, tokens and passwords of a known form, and `cards` numbers of payment
 * cards. `emails` and `phones` detect personal data; they are used only if a rule asks for them, because most bodies
 * contain personal data.
 */
export const DETECTORS = ['secrets', 'cards', 'emails', 'phones'] as const;
export type Detector = (typeof DETECTORS)[number];

const FIND: Readonly<Record<Detector, (plain: PlainText) => Span[]>> = {
  secrets: ({ original }) => findSecrets(original),
  cards: findCards,
  emails: findEmails,
  phones: findPhones,
};

/** Returns the parts of a text that the detectors detect, as spans that are sorted and do not overlap. */
export const detect = (text: string, detectors: readonly Detector[]): readonly Span[] => {
  const plain = plainTextOf(text);
  const spans = detectors.length === 1 ? FIND[detectors[0]!](plain) : detectors.flatMap((detector) => FIND[detector](plain));
  return withoutOverlaps(spans);
};

/**
 * Replaces every part of the text that the detectors detect. `hits` contains the number of replaced parts for each tag.
 */
export const redactDetected = (text: string, detectors: readonly Detector[]): { text: string; hits: RedactionHit[] } => {
  const spans = detect(text, detectors);
  return spans.length === 0 ? { text, hits: [] } : { text: replaceSpans(text, spans), hits: hitsOf(spans) };
};

export const detectIn = (texts: readonly string[], detectors: readonly Detector[]): RedactionHit[] =>
  sumHits(texts.flatMap((text) => hitsOf(detect(text, detectors))));
