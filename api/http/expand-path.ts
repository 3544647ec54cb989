/**
 * Replaces each placeholder in a path template by the path parameter with the same name or, if the path has no such
 * parameter, by the field of the reply with this name.
 */
export const expandPath = (template: string, params: Readonly<Record<string, string>>, reply: unknown): string =>
  template.replace(/:([a-z_]+)/g, (_, name: string) => params[name] ?? String((reply as Record<string, unknown>)?.[name] ?? ''));
