import { findSecrets } from './find-secrets.ts';
import { findCards } from './payment-card.ts';
import { findEmails, findPhones } from './personal-data.ts';
import { type PlainText, plainTextOf } from './plain-text.ts';
import { type RedactionHit, sumHits } from './redaction-patterns.ts';
import { hitsOf, replaceSpans, type Span, withoutOverlaps } from './span.ts';

/**
 * `secrets`: keys, tokens and passwords of a known form; `cards`: payment cards. `emails` and `phones` (personal data) only if a rule asks
 * for them, because most bodies contain some.
 */
export const DETECTORS = ['secrets', 'cards', 'emails', 'phones'] as const;
export type Detector = (typeof DETECTORS)[number];

const FIND: Readonly<Record<Detector, (plain: PlainText) => Span[]>> = {
  secrets: ({ original }) => findSecrets(original),
  cards: findCards,
  emails: findEmails,
  phones: findPhones,
};

/** Sorted, without overlaps. */
export const detect = (text: string, detectors: readonly Detector[]): readonly Span[] => {
  const plain = plainTextOf(text);
  const spans = detectors.length === 1 ? FIND[detectors[0]!](plain) : detectors.flatMap((detector) => FIND[detector](plain));
  return withoutOverlaps(spans);
};

/** `hits` has the number of replaced parts for each tag. */
export const redactDetected = (text: string, detectors: readonly Detector[]): { text: string; hits: RedactionHit[] } => {
  const spans = detect(text, detectors);
  return spans.length === 0 ? { text, hits: [] } : { text: replaceSpans(text, spans), hits: hitsOf(spans) };
};

export const detectIn = (texts: readonly string[], detectors: readonly Detector[]): RedactionHit[] =>
  sumHits(texts.flatMap((text) => hitsOf(detect(text, detectors))));
