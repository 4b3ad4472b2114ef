// Copies the verdict as Markdown. By the way that also works in a page without an origin, as a served run's is.
(() => {
  "use strict";
  const button = document.getElementById("copy");
  if (!button) return;
  const said = document.getElementById("copied");

  function copied(text) {
    const field = document.createElement("textarea");
    field.value = text;
    field.readOnly = true;
    field.className = "hidden";
    field.style.whiteSpace = "pre"; // what is copied is as it is drawn
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    button.focus();
    return done;
  }

  button.hidden = false;
  button.addEventListener("click", () => {
    said.textContent = copied(window.keyheat.content.ticket)
      ? "Copied." : "Not copied: this browser does not allow it.";
  });
})();
