const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

/** The HTML page for a browser if the console itself could not be loaded, so that it cannot draw the page. */
export const consoleFailurePage = (requestId: string): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>This page cannot be shown - Annals</title>
<style>
:root { color-scheme: light dark } body { font: 16px/1.5 system-ui, sans-serif; max-width: 42em; margin: 4em auto; padding: 0 1em }
</style></head>
<body>
<h1>This page cannot be shown</h1>
<p>The console could not be loaded. The API, the deliveries and the agents do not depend on it.</p>
<p><a href="">Try again</a>. If the page stays like this, its operator finds the reason in the log of
the process <code>serve</code>, at the request <code>${escaped(requestId)}</code>, and restarts that process.</p>
</body>
</html>
`;
