/**
 * How the benchmark chooses the names of its requests. A name is the delivery id of a webhook call, or the slug of a
 * new resource. `each`: all names are different. `twice`: each name is used a second time about 200 requests later.
 */
export type Naming = 'each' | 'twice';

/**
 * The requests of a workload. Their texts are sent in turn or in random order. The placeholders in a text are replaced
 * by the name of the request (see `Naming`).
 */
export type RequestSet = {
  readonly texts: readonly string[];
  readonly order: 'turn' | 'random';
  readonly naming: Naming;
  /** Eight hexadecimal digits that are different for each set of requests. */
  readonly run: string;
};

const NAME_LENGTH = 36;
const REPEAT_DISTANCE = 100;
export const PLACEHOLDER = '@'.repeat(NAME_LENGTH);

/** Returns the name of a request. It has the form of a UUID, which is valid as a header and as a slug. */
export const nameOf = (run: string, number: number): string => `${run}-0000-4000-8000-${number.toString(16).padStart(12, '0')}`;

const numberOf = (naming: Naming, request: number): number => {
  if (naming === 'each') return request;
  return request % 2 === 0 ? request / 2 : Math.max(0, (request - 1) / 2 - REPEAT_DISTANCE);
};

type Template = { readonly bytes: Buffer; readonly offsets: readonly number[] };

const offsetsIn = (text: string): number[] => [...text.matchAll(new RegExp(PLACEHOLDER, 'g'))].map(({ index }) => index);

// Returns the bytes of a text, and the byte offsets of its placeholders. The text before a placeholder must be ASCII,
// because then the offsets of characters are also those of bytes.
const templateOf = (text: string): Template => ({ bytes: Buffer.from(text), offsets: offsetsIn(text) });

const withName = ({ bytes, offsets }: Template, name: string): Buffer => {
  const copy = Buffer.from(bytes);
  for (const offset of offsets) copy.write(name, offset, 'latin1');
  return copy;
};

/** Returns a function that returns the bytes of the request with a given number. */
export const createRequestFactory = ({ texts, order, naming, run }: RequestSet): ((request: number) => Buffer) => {
  const templates = texts.map(templateOf);
  return (request) => {
    const number = numberOf(naming, request);
    const template = templates[order === 'turn' ? number % templates.length : Math.floor(Math.random() * templates.length)]!;
    return template.offsets.length === 0 ? template.bytes : withName(template, nameOf(run, number));
  };
};
