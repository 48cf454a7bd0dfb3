/** The picture's colours and type. The page uses the same variables, so that its legend matches. */

const LIGHT = `--ground:#fff;--ink:#1d2733;--soft:#667384;--grid:#e6eaef;--up:#d5dde6;--band:#f0a20022;--edge:#c98a00;
--done:#2a78c2;--found:#9db4cb;--lost:#d1462f;--dead:#d1462f;--frozen:#4aa3c7;--paused:#8a5fc7;--takeover:#128a5c;--dot:#2a78c2;--faulty:#c98a00;`;
const DARK = `--ground:#12171d;--ink:#e6ebf1;--soft:#93a1b1;--grid:#242c36;--up:#34404d;--band:#f0a2001f;--edge:#d9a02b;
--done:#5aa5ea;--found:#506880;--lost:#f0705a;--dead:#f0705a;--frozen:#57b4d8;--paused:#b18af0;--takeover:#3cc48d;--dot:#5aa5ea;--faulty:#e3ac35;`;

/** For `selector`, which gets the variables of both colour schemes. */
export function colours(selector: string): string {
  return `${selector}{${LIGHT}}\n@media (prefers-color-scheme:dark){${selector}{${DARK}}}`;
}

export const PICTURE_STYLE = `${colours('.quorate-run')}
.quorate-run{font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}
.quorate-run text{font-size:12px;fill:var(--ink)}
.quorate-run .ground{fill:var(--ground)}
.quorate-run .grid{stroke:var(--grid)}
.quorate-run .rail{stroke:var(--up)}
.quorate-run .tick,.quorate-run .note{font-size:11px;fill:var(--soft)}
.quorate-run .note.strong{fill:var(--ink);font-weight:600}
.quorate-run .strong{paint-order:stroke;stroke:var(--ground);stroke-width:3px}
.quorate-run .title{font-size:11px;font-weight:600;fill:var(--soft)}
.quorate-run .fault{font-weight:600}
.quorate-run .band{fill:var(--band)}
.quorate-run .edge{stroke:var(--edge);stroke-width:1.5}
.quorate-run .badge{fill:var(--edge)}
.quorate-run text.number{fill:var(--ground);font-size:11px;font-weight:700}
.quorate-run .up{fill:var(--up)}
.quorate-run .dead{fill:var(--dead)}
.quorate-run .frozen{fill:var(--frozen)}
.quorate-run text.in-bar{fill:var(--ground);font-size:10.5px;font-weight:600}
.quorate-run .lease{stroke:var(--ground);stroke-width:.6}
.quorate-run text.in-lease{fill:var(--ground);font-size:10px;pointer-events:none}
.quorate-run .done{fill:var(--done)}
.quorate-run .found-done{fill:var(--found);stroke:none}
.quorate-run .lost,.quorate-run .open{fill:var(--lost)}
.quorate-run .gone{fill:var(--ground);opacity:.55}
.quorate-run .paused{fill:none;stroke:var(--paused);stroke-width:1.5;stroke-dasharray:4 3}
.quorate-run .cross{fill:none;stroke:var(--ink);stroke-width:2.2}
.quorate-run .takeover{fill:none;stroke:var(--takeover);stroke-width:2}
.quorate-run .takeover-end{fill:var(--takeover)}
.quorate-run .dot{fill:var(--dot);opacity:.6}
.quorate-run .dot.faulty{fill:var(--faulty);opacity:.8}
`;
