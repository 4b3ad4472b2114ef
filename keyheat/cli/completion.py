"""The verb completion: what a shell has to read so that it completes verbs, options and scenarios."""

import click
from click.shell_completion import get_completion_class

from keyheat.words import DONE

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> int:
    """What SHELL has to read: verbs, options and names of scenarios are then completed with the tab key.

    \b
    bash   echo 'eval "$(keyheat completion bash)"' >> ~/.bashrc
    zsh    echo 'eval "$(keyheat completion zsh)"' >> ~/.zshrc
    fish   keyheat completion fish > ~/.config/fish/completions/keyheat.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, "keyheat", "_KEYHEAT_COMPLETE").source())
    return DONE
