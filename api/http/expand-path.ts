/**
 * Replaces the placeholders of a path template by path parameters of the request. A placeholder without such a
 * parameter is replaced by the field of the reply with its name.
 */
export const expandPath = (template: string, params: Readonly<Record<string, string>>, reply: unknown): string =>
  template.replace(/:([a-z_]+)/g, (_, name: string) => params[name] ?? String((reply as Record<string, unknown>)?.[name] ?? ''));
