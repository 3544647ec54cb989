import { FunctionExpressionType, JSONPathEnvironment, JSONPathNodeList, type JSONPathQuery, type JSONValue } from 'json-p3';
import type { RE2JS } from 're2js';
import { exactNumber } from '../../domain/bodies/exact-json.ts';
import type { ValuePath } from '../../domain/bodies/json-values.ts';
import type { JsonQuery } from '../../domain/guardrails/guardrail-evaluation.ts';
import { createLruMap } from '../lru-map.ts';
import { parsePattern } from './text-pattern.ts';

/** Bodies have at most 64 levels, and the scalar values in them are one level deeper. */
const MAX_LEVELS = 66;
/** A query that selects more values fails. */
const MAX_SELECTED = 100_000;
const MAX_PATTERNS = 500;

const patterns = createLruMap<string, RE2JS>({ capacity: MAX_PATTERNS });

const patternOf = (text: string): RE2JS => {
  const known = patterns.get(text) ?? parsePattern(text);
  patterns.set(text, known);
  return known;
};

/** A JSONPath function (RFC 9535). Replaces that of the library, whose matcher backtracks. */
const patternFunction = (matches: (pattern: RE2JS, text: string) => boolean) => ({
  argTypes: [FunctionExpressionType.ValueType, FunctionExpressionType.ValueType],
  returnType: FunctionExpressionType.LogicalType,
  call: (text: unknown, pattern: unknown): boolean => typeof text === 'string' && matches(patternOf(pattern as string), text),
});

const environment = new JSONPathEnvironment({ maxRecursionDepth: MAX_LEVELS });
environment.functionRegister.set(
  'match',
  patternFunction((pattern, text) => pattern.testExact(text)),
);
environment.functionRegister.set(
  'search',
  patternFunction((pattern, text) => pattern.test(text)),
);

type Node = Readonly<Record<string, unknown>>;
const PATTERN_FUNCTIONS: readonly unknown[] = ['match', 'search'];
const NO_CHILDREN: readonly string[] = ['environment', 'token'];

/** Patterns must be literals: one from the body of a delivery could be hostile. @throws Error */
const checkPatterns = (node: unknown): void => {
  if (typeof node !== 'object' || node === null) return;
  const { name, args } = node as Node;
  if (PATTERN_FUNCTIONS.includes(name) && Array.isArray(args)) {
    const pattern = (args[1] as Node | undefined)?.value;
    if (typeof pattern !== 'string') throw new Error(`the pattern of ${name} must be a text`);
    patternOf(pattern);
  }
  for (const [key, child] of Object.entries(node)) if (!NO_CHILDREN.includes(key)) checkPatterns(child);
};

const isLarge = (value: unknown): boolean => typeof value === 'bigint';

/** The order of two numbers of which one is a bigint; the library compares only numbers. */
const ORDERS: Readonly<Record<string, (left: bigint, right: bigint) => boolean>> = {
  '<': (left, right) => left < right,
  '>': (left, right) => left > right,
  '<=': (left, right) => left <= right,
  '>=': (left, right) => left >= right,
};

const isNumeric = (value: unknown): boolean => typeof value === 'number' || isLarge(value);

/** A list of one value counts as this value. */
const operandOf = (operand: unknown): unknown =>
  operand instanceof JSONPathNodeList && operand.nodes.length === 1 ? operand.nodes[0]!.value : operand;

type Evaluated = { readonly evaluate: (context: unknown) => unknown };
type Comparison = { evaluate: Evaluated['evaluate']; readonly left: Evaluated; readonly right: Evaluated; readonly operator: string };
type Literal = { value: number | bigint; readonly token: { readonly value: string } };

const compareExactly = (node: Comparison): void => {
  const order = ORDERS[node.operator];
  if (!order) return;
  const compare = node.evaluate.bind(node);
  node.evaluate = (context) => {
    const [left, right] = [operandOf(node.left.evaluate(context)), operandOf(node.right.evaluate(context))];
    const hasLarge = isNumeric(left) && isNumeric(right) && (isLarge(left) || isLarge(right));
    return hasLarge ? order(left as bigint, right as bigint) : compare(context);
  };
};

/** Compares large whole numbers exactly, in the query and in documents. */
const makeExact = (node: unknown): void => {
  if (typeof node !== 'object' || node === null) return;
  const { value, token, operator, left, right } = node as Node;
  if (typeof value === 'number' && token) (node as Literal).value = exactNumber((node as Literal).token.value);
  if (typeof operator === 'string' && left && right) compareExactly(node as Comparison);
  for (const [key, child] of Object.entries(node)) if (!NO_CHILDREN.includes(key)) makeExact(child);
};

const parseQuery = (path: string): JSONPathQuery => {
  try {
    const query = environment.compile(path);
    checkPatterns(query.segments);
    makeExact(query.segments);
    return query;
  } catch (error) {
    throw new Error(`is not a JSONPath query of RFC 9535: ${(error as Error).message}`);
  }
};

/** @throws Error with a text for the user if the query is not valid */
export const compileJsonQuery = (path: string): JsonQuery => {
  const query = parseQuery(path);
  return {
    selects: (document) => !query.lazyQuery(document as JSONValue).next().done,
    paths: (document) => {
      const found: ValuePath[] = [];
      for (const { location } of query.lazyQuery(document as JSONValue)) {
        if (found.length === MAX_SELECTED) throw new Error(`the query selects more than ${MAX_SELECTED} values`);
        found.push(location);
      }
      return found;
    },
  };
};
