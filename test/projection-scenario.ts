import fc from 'fast-check';
import { type Given, types } from './projection-given.ts';

const text = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom('a\0b', '\ud800', '€"\\{},'),
);
const given = fc.tuple(
  fc.constantFrom('a', 'b', 'c', 'd'),
  fc.constantFrom(...types, 'IdeaNoted', 'IdeaNoted', 'IdeaRenamed', 'Unknown'),
  fc.record(
    {
      title: text,
      to: fc.constantFrom('a', 'b', 'c', 'd'),
      tag: text,
      mood: fc.constantFrom('glad', 'sad', 'grim'),
      extra: fc.jsonValue(),
      score: fc.double(),
    },
    { requiredKeys: ['title'] },
  ),
);

const fields: Readonly<Record<string, readonly string[]>> = {
  IdeaNoted: ['title', 'mood', 'extra', 'score'],
  IdeaRenamed: ['title', 'mood', 'extra', 'score'],
  IdeaTorn: ['title'],
  IdeaLinked: ['to'],
  IdeaTagged: ['tag'],
};

/** Anything that may happen to four ideas, some of it impossible. */
export const scenario: fc.Arbitrary<Given[]> = fc.array(
  given.map(
    ([id, type, data]): Given => [
      id,
      type,
      Object.fromEntries(Object.entries(data).filter(([name]) => (fields[type] ?? []).includes(name))),
    ],
  ),
  { maxLength: 40 },
);
