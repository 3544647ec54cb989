import { parseDocument } from 'yaml';
import type { ParseYaml } from '../../commands/skills/import-skill.ts';

/**
 * Parses a YAML text (see `ParseYaml`). Aliases are refused, because with them a short text can describe a huge value.
 */
export const parseYaml: ParseYaml = (text) => {
  const document = parseDocument(text, { schema: 'core', uniqueKeys: true, logLevel: 'silent', prettyErrors: false });
  const [error] = document.errors;
  if (error) return { fault: error.message };
  try {
    return { value: document.toJS({ maxAliasCount: 0 }) as unknown };
  } catch {
    return { fault: 'aliases are not supported' };
  }
};
