import { z } from 'zod';
import { DisplayLine, displayText } from '../fields.ts';

export const ENVIRONMENT_MODES = ['shared', 'isolated'] as const;

type Meta = { readonly description: string; readonly examples?: unknown[] };

/** A setting that can be empty (null), which is the default. */
const optional = <Value extends z.ZodType, Stored extends z.ZodType>(value: Value, stored: Stored, meta: Meta) => ({
  initial: null as z.output<Stored> | null,
  create: value.nullable().default(null).meta(meta),
  update: value.nullish().meta(meta),
  read: stored.nullable().meta(meta),
});

/** A setting that always has a value; null in an update resets it to `initial`. */
const required = <Value extends z.ZodType, Stored extends z.ZodType>(
  value: Value,
  stored: Stored,
  initial: z.util.NoUndefined<z.output<Value>> & z.output<Stored>,
  meta: Meta,
) => ({
  initial: initial as z.output<Stored>,
  create: value.default(initial).meta(meta),
  update: value.nullish().meta(meta),
  read: stored.meta(meta),
});

const text = z.string();
const environment = z.enum(ENVIRONMENT_MODES);

/**
 * Settings to which no rule applies except their own form. Requests, responses, clones and restores take them from here. A setting with a
 * rule of its own does not belong here.
 */
const PLAIN_SETTINGS = {
  description: optional(text, text, { description: 'What the agent does, for people', examples: ['Reviews pull requests'] }),
  description_prompt: optional(text, text, { description: 'What the agent does, for the language model' }),
  environment_mode: required(environment, environment, 'shared', {
    description: "Whether the agent's sessions share one environment or have one each",
  }),
  image_ref: optional(DisplayLine, text, { description: 'The container image in which the agent runs' }),
  initial_greeting: optional(text, text, { description: 'The first message of the agent in a conversation' }),
  iteration_warn_threshold: optional(z.int().min(1), z.int(), {
    description: 'After how many iterations of a session its runner warns',
    examples: [100],
  }),
  resource_class: required(displayText(1, 64), text, 'small', {
    description: 'How much CPU and memory the agent gets, as its runner understands it',
    examples: ['small'],
  }),
  voice: optional(displayText(0, 128), text, {
    description: 'The voice of the agent in calls; for runners, the platform itself does not use it',
  }),
};

type Name = keyof typeof PLAIN_SETTINGS;
type Part = keyof (typeof PLAIN_SETTINGS)[Name];
type PartOf<P extends Part> = { [N in Name]: (typeof PLAIN_SETTINGS)[N][P] };

const names = Object.keys(PLAIN_SETTINGS) as Name[];

const partOf = <P extends Part>(part: P): PartOf<P> =>
  Object.fromEntries(names.map((name) => [name, PLAIN_SETTINGS[name][part]])) as PartOf<P>;

export type PlainSettings = PartOf<'initial'>;

export const plainDefaults = partOf('initial');
export const plainFieldsToCreate = partOf('create');
export const plainFieldsToUpdate = partOf('update');
export const plainFieldsToRead = partOf('read');

export const plainSettingsOf = (settings: PlainSettings): PlainSettings =>
  Object.fromEntries(names.map((name) => [name, settings[name]])) as PlainSettings;
