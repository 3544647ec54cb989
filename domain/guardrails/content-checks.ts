import { type BodyContent, plainBytes } from '../bodies/body-content.ts';
import { MAY_HAVE_CARD, MAY_HAVE_INJECTION, MAY_HAVE_SECRET, possibleContent } from '../redaction/content-filter.ts';
import { type Detector, detectIn } from '../redaction/detectors.ts';
import { findInjection } from '../redaction/injection.ts';
import type { GuardrailVerdict } from './guardrail.ts';
import type { CheckedBody } from './guardrail-evaluation.ts';

/** The maximum number of names or tags in one verdict. */
const MAX_NOTED = 20;

/** Bits for `contentVerdicts`: what the body may contain; 0 for nothing. Takes a few microseconds for 2 KB. */
export const contentSignals = ({ bytes, media, json }: CheckedBody): number => possibleContent(plainBytes(bytes, media, json));

const redactionVerdict = (content: BodyContent, signals: number): GuardrailVerdict[] => {
  const detectors: Detector[] = [];
  if (signals & MAY_HAVE_SECRET) detectors.push('secrets');
  if (signals & MAY_HAVE_CARD) detectors.push('cards');
  const hits = detectors.length === 0 ? [] : detectIn(content.texts(), detectors);
  const note = hits.slice(0, MAX_NOTED).map(({ tag, count }) => `${tag}: ${count}`);
  return hits.length === 0 ? [] : [{ rule: 'redaction', verdict: 'label', note: note.join(', ') }];
};

const injectionVerdict = (content: BodyContent, signals: number): GuardrailVerdict[] => {
  if ((signals & MAY_HAVE_INJECTION) === 0) return [];
  const names = new Set(content.texts().flatMap(findInjection));
  return names.size === 0 ? [] : [{ rule: 'injection', verdict: 'label', note: [...names].join(', ') }];
};

/** Apply to every delivery: label secrets, card numbers, and instructions to a language model. `signals`: `contentSignals` of this body. */
export const contentVerdicts = (content: BodyContent, signals: number): readonly GuardrailVerdict[] => [
  ...redactionVerdict(content, signals),
  ...injectionVerdict(content, signals),
];
