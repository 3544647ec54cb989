import { _, Ajv, type ErrorObject, type Options } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { type JsonObject, type JsonSchemaValidator, MAX_JSON_LENGTH, type SchemaFault } from '../../commands/json-schema-validator.ts';
import { COST, prepareSchema } from './prepare-schema.ts';
import { safePattern } from './safe-pattern.ts';

/** The maximum number of steps of one check. In the worst case, this many steps take a few hundred milliseconds. */
const MAX_STEPS = 1_000_000;

const DRAFT_7 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/;
const DRAFT_2020 = /^https:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

const TOO_COMPLEX: SchemaFault = { pointer: '', code: 'too_complex', message: 'takes too long to check against its schema' };

class TooManySteps extends Error {}

type Budget = { steps: number };

const spend = (budget: Budget, steps: number): void => {
  budget.steps -= steps;
  if (budget.steps < 0) throw new TooManySteps();
};

const OPTIONS: Options = {
  strict: false,
  logger: false,
  validateFormats: false,
  ownProperties: true,
  inlineRefs: false,
  addUsedSchema: false,
};

/** Converts a value to JSON text with sorted fields, so that equal values have the same text. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );

const itemsIn = (value: unknown): number => (typeof value === 'object' && value !== null ? Object.keys(value).length : 0);

type Dialect = typeof Ajv | typeof Ajv2020;

const draft7 = () => new Ajv(OPTIONS);
const draft2020 = () => new Ajv2020(OPTIONS);
const checkers = new Map<Dialect, Ajv>();

/** The validator is created at first use, because that takes tens of milliseconds. */
const metaChecker = (dialect: Dialect): Ajv => {
  const checker = checkers.get(dialect) ?? (dialect === Ajv ? draft7() : draft2020());
  checkers.set(dialect, checker);
  return checker;
};

const dialectOf = ({ $schema }: JsonObject): Dialect | null => {
  if ($schema === undefined) return Ajv2020;
  if (typeof $schema !== 'string') return null;
  if (DRAFT_7.test($schema)) return Ajv;
  return DRAFT_2020.test($schema) ? Ajv2020 : null;
};

/**
 * Each schema gets its own instance of the library, which keeps everything that it has compiled. Checks of parts are charged to `budget`.
 */
const compile = (dialect: Dialect, schema: JsonObject, budget: Budget) => {
  const regExp = (pattern: string) => {
    const { size, test } = safePattern(pattern);
    return {
      test: (text: string): boolean => {
        spend(budget, size * (text.length + 1));
        return test(text);
      },
    };
  };
  const spendOn = { ref: (cost: number, value: unknown) => spend(budget, cost * (1 + itemsIn(value))) };
  const ajv = new dialect({
    ...OPTIONS,
    meta: false,
    validateSchema: false,
    code: { optimize: false, regExp: Object.assign(regExp, { code: '' }) },
  });
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: COST,
    before: '$ref',
    schemaType: 'number',
    code: ({ gen, schema, data }) => gen.code(_`${gen.scopeValue('func', spendOn)}(${schema}, ${data})`),
  });
  // The library's `uniqueItems` compares each item with every other item.
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must not contain equal items' },
    validate: (isRequired: boolean, items: unknown[]) => {
      if (!isRequired) return true;
      const texts = items.map(canonical);
      spend(
        budget,
        texts.reduce((length, text) => length + text.length, 0),
      );
      return new Set(texts).size === items.length;
    },
  });
  return ajv.compile(schema);
};

const faultOf = ({ instancePath, keyword, message = 'is not valid', params }: ErrorObject): SchemaFault => {
  const field: unknown = params.additionalProperty ?? params.unevaluatedProperty;
  if (typeof field !== 'string') return { pointer: instancePath, code: keyword, message };
  const pointer = `${instancePath}/${field.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  return { pointer, code: 'unknown_field', message: 'is not a field of this schema' };
};

type Compiled = { readonly check: (value: unknown) => SchemaFault | null };

const compileOrFault = (schema: JsonObject): Compiled | { readonly fault: SchemaFault } => {
  if (JSON.stringify(schema).length > MAX_JSON_LENGTH)
    return { fault: { pointer: '', code: 'too_big', message: `must have at most ${MAX_JSON_LENGTH} characters as JSON` } };
  const dialect = dialectOf(schema);
  if (!dialect) return { fault: { pointer: '/$schema', code: 'unsupported_schema', message: 'must be draft 2020-12 or draft 7' } };
  const checker = metaChecker(dialect);
  if (!checker.validateSchema(schema)) return { fault: faultOf(checker.errors![0]!) };
  const result = prepareSchema(schema);
  if ('fault' in result) return result;
  const budget: Budget = { steps: MAX_STEPS };
  try {
    const validate = compile(dialect, result.prepared, budget);
    return { check: (value) => (validate(value) ? null : faultOf(validate.errors![0]!)) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { fault: { pointer: '', code: 'invalid_schema', message: `is not a usable schema: ${message}` } };
  }
};

/** True if the budget was used up, or the schema refers to itself endlessly. */
const wasStopped = (error: unknown): boolean => error instanceof TooManySteps || error instanceof RangeError;

/** Checks values against schemas of clients, in the calling thread. Limits on size and steps make every check end in time. */
export const jsonSchemaValidator = (): JsonSchemaValidator => ({
  faultOfSchema: (schema) => {
    const compiled = compileOrFault(schema);
    return 'fault' in compiled ? compiled.fault : null;
  },
  faultOfValue: (schema, value) => {
    const compiled = compileOrFault(schema);
    if ('fault' in compiled) return compiled.fault;
    try {
      return compiled.check(value);
    } catch (error) {
      if (wasStopped(error)) return TOO_COMPLEX;
      throw error;
    }
  },
});
