import { parseDocument } from 'yaml';
import type { ParseYaml } from '../../domain/skills/front-matter.ts';

/** Aliases are refused, because with them a short text can describe a huge value. */
export const parseYaml: ParseYaml = (text) => {
  const document = parseDocument(text, { schema: 'failsafe', uniqueKeys: false, logLevel: 'silent', prettyErrors: false });
  const [error] = document.errors;
  if (error) return { fault: error.code };
  try {
    return { value: document.toJS({ maxAliasCount: 0 }) as unknown };
  } catch {
    return { fault: 'ALIAS' };
  }
};
