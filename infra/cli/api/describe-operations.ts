import { printLine } from '../../logging/print-line.ts';
import { usageError } from '../arguments.ts';
import { type ApiOperation, type FieldSchema, readOperations } from './api-document.ts';
import { optionName } from './operation-arguments.ts';

/** The name may be in upper or lower case, with or without hyphens. @throws a usage error with similar names */
export const operationNamed = (operations: readonly ApiOperation[], name: string): ApiOperation => {
  const found = operations.find((one) => one.name.toLowerCase() === name.replaceAll('-', '').toLowerCase());
  if (found) return found;
  const similar = operations.filter((one) => one.name.toLowerCase().includes(name.toLowerCase())).slice(0, 5);
  throw usageError(
    `There is no operation ${name}${similar.length > 0 ? `; similar: ${similar.map((one) => one.name).join(', ')}` : ''}`,
    'annals api, which lists the operations',
  );
};

/** Returns the exit code. */
export const listOperations = async (url: string): Promise<number> => {
  const operations = await readOperations(url);
  const width = Math.max(0, ...operations.map(({ name }) => name.length));
  for (const { name, method, path, summary } of operations)
    printLine(`${name.padEnd(width)}  ${method.toUpperCase().padEnd(6)}  ${path}  ${summary}`);
  return 0;
};

const typeName = (schema: FieldSchema): string => {
  if (schema.enum) return schema.enum.map(String).join(' | ');
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeName))].join(' | ');
  if (schema.items) return `list of ${typeName(schema.items)}`;
  return schema.format === 'binary' ? 'file' : ([schema.type ?? 'any'].flat().join(' | ') ?? 'any');
};

const fieldLine = (name: string, schema: FieldSchema, isRequired: boolean, description = schema.description): string =>
  `  --${optionName(name)} <${typeName(schema)}>${isRequired ? ' (required)' : ''}${description ? `  ${description}` : ''}`;

/** Returns the exit code. */
export const describeOperation = async (url: string, name: string): Promise<number> => {
  const { parameters, body, ...operation } = operationNamed(await readOperations(url), name);
  const head = [
    `${operation.name}  ${operation.method.toUpperCase()} ${operation.path}`,
    `${operation.summary}. ${operation.description}`,
    '',
  ];
  for (const line of head) printLine(line);
  for (const { name, schema, required, description } of parameters) printLine(fieldLine(name, schema, required, description));
  for (const [name, schema] of Object.entries(body?.schema.properties ?? {}))
    printLine(fieldLine(name, schema, body?.schema.required?.includes(name) ?? false));
  if (body && body.type !== 'multipart/form-data')
    printLine('  --json <text>  The body as JSON, or - for standard input; fields are added to it');
  return 0;
};
