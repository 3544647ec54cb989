import type { Sample } from './conventions/provider-definition.ts';
import { PROVIDER_DEFINITIONS, type Provider } from './provider.ts';
import type { PresetOwner } from './provider-preset.ts';

const samplesOf = (provider: Provider): readonly Sample[] => PROVIDER_DEFINITIONS[provider].samples;

/** Returns the event names of a provider's samples. Samples without one are left out. */
export const sampleEvents = (provider: Provider): readonly string[] => [
  ...new Set(samplesOf(provider).flatMap(({ event }) => event ?? [])),
];

/** Without `event`, the provider's ping or, if it has none, its first sample. */
export const sampleOf = (provider: Provider, event?: string | undefined): Sample | undefined => {
  const known = samplesOf(provider);
  if (event !== undefined) return known.find((sample) => sample.event === event);
  return known.find((sample) => sample.event === 'ping') ?? known[0];
};

/** Ready to be signed. */
export type SampleRequest = { readonly headers: Readonly<Record<string, string>>; readonly body: string };

/** Added to the body of every sample; the id of the sample makes each body different. */
const MARK = 'annals_test';
const FORM = 'application/x-www-form-urlencoded';

/** The time of signing, if the body must have one. The samples have 0 there. */
const setTime = (provider: Provider, body: string, at: string): string => {
  const pointer = PROVIDER_DEFINITIONS[provider].bodyTimestamp?.pointer;
  const name = pointer && `"${pointer.slice(1)}":`;
  return name ? body.replace(`${name}0`, `${name}${Date.parse(at)}`) : body;
};

const markBody = (body: string, id: string, isForm: boolean): string => {
  if (isForm) return `${MARK}=${id}&${body}`;
  return body.startsWith('{') ? `{"${MARK}":"${id}",${body.slice(1)}` : JSON.stringify({ [MARK]: id, sample: JSON.parse(body) });
};

const setPointer = (target: Record<string, unknown>, pointer: string, value: string): void => {
  const names = pointer
    .slice(1)
    .split('/')
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  let at = target;
  for (const name of names.slice(0, -1)) {
    const inner = Object.hasOwn(at, name) ? at[name] : undefined;
    const next = typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? (inner as Record<string, unknown>) : {};
    Object.defineProperty(at, name, { value: next, enumerable: true, configurable: true, writable: true });
    at = next;
  }
  Object.defineProperty(at, names.at(-1)!, { value, enumerable: true, configurable: true, writable: true });
};

/** Puts a value where the integration's settings say: in a header, or in a field of the body. */
const placeValue = ({ headers, body }: SampleRequest, source: string | null | undefined, value: string): SampleRequest => {
  if (source == null) return { headers, body };
  if (!source.startsWith('/')) return { headers: { ...headers, [source.toLowerCase()]: value }, body };
  const fields = JSON.parse(body) as Record<string, unknown>;
  setPointer(fields, source, value);
  return { headers, body: JSON.stringify(fields) };
};

/** Returns a sample as the provider would send it at the time `at` (RFC 3339). `id` is the new delivery id: letters, digits and hyphens. */
export const sampleRequest = (owner: PresetOwner, sample: Sample, id: string, at: string): SampleRequest => {
  const fresh = (text: string): string => (sample.id === 'digest' ? text : text.replaceAll(sample.id, id));
  const named = Object.entries(sample.headers ?? {}).map(([name, value]): [string, string] => [name, fresh(value)]);
  const headers: Record<string, string> = { 'content-type': 'application/json', ...Object.fromEntries(named) };
  const body = setTime(owner.provider, fresh(sample.body), at);
  const request = { headers, body: markBody(body, id, headers['content-type']!.startsWith(FORM)) };
  const withEvent = placeValue(request, owner.options.event_source, 'test');
  return placeValue(withEvent, owner.delivery_id_source, id);
};
