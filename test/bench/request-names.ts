/** How requests are told apart. `each`: every one has a name of its own. `twice`: every name comes twice, the second time some 200 requests later. */
export type Naming = 'each' | 'twice';

/** Requests to be sent in turn or at random; where a text holds the mark, each has a name of its own in its place. */
export type Volley = {
  readonly texts: readonly string[];
  readonly order: 'turn' | 'random';
  readonly naming: Naming;
  /** Eight hexadecimal digits that no other volley has. */
  readonly run: string;
};

const LENGTH = 36;
const BETWEEN_TWICE = 100;
export const MARK = '@'.repeat(LENGTH);

/** A name in the form of a UUID, fit for a header and for a slug. */
export const nameOf = (run: string, number: number): string => `${run}-0000-4000-8000-${number.toString(16).padStart(12, '0')}`;

const numberOf = (naming: Naming, request: number): number => {
  if (naming === 'each') return request;
  return request % 2 === 0 ? request / 2 : Math.max(0, (request - 1) / 2 - BETWEEN_TWICE);
};

type Shot = { readonly bytes: Buffer; readonly places: readonly number[] };

const placesIn = (text: string): number[] => [...text.matchAll(new RegExp(MARK, 'g'))].map(({ index }) => index);

// Marks stand where all before them is ASCII, or else a place in the text is none in the bytes.
const shotOf = (text: string): Shot => ({ bytes: Buffer.from(text), places: placesIn(text) });

const named = ({ bytes, places }: Shot, name: string): Buffer => {
  const copy = Buffer.from(bytes);
  for (const place of places) copy.write(name, place, 'latin1');
  return copy;
};

/** The bytes of a request by its number. */
export const shooter = ({ texts, order, naming, run }: Volley): ((request: number) => Buffer) => {
  const shots = texts.map(shotOf);
  return (request) => {
    const number = numberOf(naming, request);
    const shot = shots[order === 'turn' ? number % shots.length : Math.floor(Math.random() * shots.length)]!;
    return shot.places.length === 0 ? shot.bytes : named(shot, nameOf(run, number));
  };
};
