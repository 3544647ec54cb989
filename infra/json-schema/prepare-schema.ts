import type { JsonObject, SchemaFault } from '../../commands/json-schema-validator.ts';
import { safePattern } from './safe-pattern.ts';

/** `prepareSchema` adds this keyword to each part of a schema: the approximate steps of one check, for lists per item. */
export const COST = 'x-annals-cost';

const MAX_DEPTH = 32;
const MAX_SUBSCHEMAS = 500;
/** The limit for all targets of `$ref` together: the library compiles each target again. */
const MAX_REFERRED_SUBSCHEMAS = 1_000;
const MAX_PATTERN_SIZE = 20_000;
/** The number of characters of `enum` and `const` whose comparison counts as one step. */
const COMPARED_PER_STEP = 4;

const SCHEMA = new Set(
  'items additionalItems contains additionalProperties propertyNames not if then else unevaluatedItems unevaluatedProperties contentSchema'.split(
    ' ',
  ),
);
const SCHEMA_LIST = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items']);
const SCHEMA_MAP = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas', 'dependencies']);
const REFUSED = new Set(['$async', '$dynamicRef', '$dynamicAnchor', '$recursiveRef', '$recursiveAnchor', '$vocabulary', 'id']);
/** Removed from the copy. With `$id`, a schema could take the name of another schema. */
const ROOT_ONLY = new Set(['$id', '$schema']);

class Fault extends Error {
  readonly fault: SchemaFault;
  constructor(pointer: string, code: string, message: string) {
    super(message);
    this.fault = { pointer, code, message };
  }
}

type Visit = {
  depth: number;
  subschemas: number;
  patternSize: number;
  /** Possible targets of a `$ref`: JSON pointers and anchors of visited parts, with their numbers of subschemas. */
  readonly targets: Map<string, number>;
  readonly refs: { readonly pointer: string; readonly ref: string }[];
};

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);
const escapePart = (part: string): string => part.replaceAll('~', '~0').replaceAll('/', '~1');

const checkPattern = (visit: Visit, pointer: string, pattern: string): void => {
  try {
    visit.patternSize += safePattern(pattern).size;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Fault(pointer, 'invalid_pattern', `is not a supported pattern: ${reason}`);
  }
  if (visit.patternSize > MAX_PATTERN_SIZE) throw new Fault(pointer, 'too_complex', 'the patterns of the schema are too complex');
};

const costOf = (keyword: string, value: unknown): number => {
  if (keyword === 'enum' || keyword === 'const') return Math.ceil(JSON.stringify(value).length / COMPARED_PER_STEP);
  if (Array.isArray(value)) return value.length;
  return isObject(value) && !SCHEMA.has(keyword) ? Object.keys(value).length : 1;
};

const copyValue = (visit: Visit, pointer: string, keyword: string, value: unknown): unknown => {
  if (Array.isArray(value))
    return SCHEMA_LIST.has(keyword) ? value.map((one, index) => copySchema(visit, `${pointer}/${index}`, one)) : value;
  if (!isObject(value)) return value;
  if (SCHEMA.has(keyword)) return copySchema(visit, pointer, value);
  if (!SCHEMA_MAP.has(keyword)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      const at = `${pointer}/${escapePart(name)}`;
      if (keyword === 'patternProperties') checkPattern(visit, at, name);
      return [name, Array.isArray(one) ? one : copySchema(visit, at, one)];
    }),
  );
};

const checkKeyword = (visit: Visit, pointer: string, keyword: string, value: unknown): void => {
  if (REFUSED.has(keyword)) throw new Fault(pointer, 'unsupported_keyword', `the keyword ${keyword} is not supported`);
  if (ROOT_ONLY.has(keyword)) throw new Fault(pointer, 'unsupported_keyword', `${keyword} is supported at the root of the schema only`);
  if (keyword === '$ref') visit.refs.push({ pointer, ref: String(value) });
  if (keyword === 'pattern') checkPattern(visit, pointer, String(value));
};

const copySchema = (visit: Visit, pointer: string, schema: unknown): unknown => {
  visit.targets.set(`#${pointer}`, 1);
  if (!isObject(schema)) return schema;
  const before = visit.subschemas;
  if (++visit.subschemas > MAX_SUBSCHEMAS) throw new Fault('', 'too_complex', `must have at most ${MAX_SUBSCHEMAS} subschemas`);
  if (++visit.depth > MAX_DEPTH + 1) throw new Fault('', 'too_deep', `must be nested at most ${MAX_DEPTH} levels deep`);
  const entries = Object.entries(schema).filter(([keyword]) => pointer !== '' || !ROOT_ONLY.has(keyword));
  let cost = 1;
  const copied = entries.map(([keyword, value]) => {
    const at = `${pointer}/${escapePart(keyword)}`;
    checkKeyword(visit, at, keyword, value);
    cost += costOf(keyword, value);
    return [keyword, copyValue(visit, at, keyword, value)];
  });
  visit.depth--;
  const size = visit.subschemas - before;
  visit.targets.set(`#${pointer}`, size);
  if (typeof schema.$anchor === 'string') visit.targets.set(`#${schema.$anchor}`, size);
  return { ...Object.fromEntries(copied), [COST]: cost };
};

/** The keys of `targets` have no percent-encoding. */
const decodedRef = (ref: string): string => {
  try {
    return decodeURIComponent(ref);
  } catch {
    return ref;
  }
};

const checkRefs = ({ refs, targets }: Visit): void => {
  const referred = new Map<string, number>();
  for (const { pointer, ref } of refs) {
    if (!ref.startsWith('#')) throw new Fault(pointer, 'remote_ref', 'must start with #: a schema can refer only to its own parts');
    const size = targets.get(decodedRef(ref));
    if (size === undefined) throw new Fault(pointer, 'unknown_ref', 'does not lead to a part of this schema');
    referred.set(decodedRef(ref), size);
  }
  const total = referred.values().reduce((sum, size) => sum + size, 0);
  if (total > MAX_REFERRED_SUBSCHEMAS) throw new Fault('', 'too_complex', 'its $refs lead to parts that are too large in total');
};

/**
 * Copies a schema that is valid by its meta-schema, and adds the keyword COST to each of its parts. Returns a fault
 * instead if the schema is too large, refers to other documents, or has patterns or keywords that are not supported.
 */
export const prepareSchema = (schema: JsonObject): { prepared: JsonObject } | { fault: SchemaFault } => {
  const visit: Visit = { depth: 0, subschemas: 0, patternSize: 0, targets: new Map(), refs: [] };
  try {
    const prepared = copySchema(visit, '', schema) as JsonObject;
    checkRefs(visit);
    // Without an id, the library cannot resolve references to the root.
    return { prepared: { ...prepared, $id: 'schema:/' } };
  } catch (error) {
    if (error instanceof Fault) return { fault: error.fault };
    throw error;
  }
};
