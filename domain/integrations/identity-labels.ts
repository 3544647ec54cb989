import type { InspectedBody } from '../bodies/body-inspection.ts';
import type { GuardrailVerdict } from '../guardrails/guardrail.ts';
import type { PresetOwner } from './provider-preset.ts';

/** The labels say that the id, or the event, cannot be read from the body's field that the owner of the integration has set. */
export const identityLabels = (
  { delivery_id_source, options }: PresetOwner,
  { sha256, fields, unclear = [] }: InspectedBody,
): readonly GuardrailVerdict[] => {
  const labelOf = (rule: string, source: string | null | undefined, instead: string): GuardrailVerdict[] => {
    if (!source?.startsWith('/') || fields[source]) return [];
    const fault = unclear.includes(source) ? 'is neither a text nor a number, or has several different values' : 'is missing or empty';
    return [{ rule, verdict: 'label', note: `the field ${source} ${fault}: ${instead}` }];
  };
  return [
    ...labelOf('delivery_id', delivery_id_source, `the digest of the body is the id (${sha256.slice(0, 12)}…)`),
    ...labelOf('event_source', options.event_source, 'the delivery names no event'),
  ];
};
