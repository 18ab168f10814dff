//! `kalmia serve`: models that learn over HTTP.

use crate::args::ServeArgs;
use crate::error::{Failure, Result};
use crate::output;
use kalmia_server::{new_token, serve};

/// Runs the command.
pub fn run(args: &ServeArgs) -> Result<()> {
    if let Some(role) = args.print_token {
        let (token, line) = new_token(role);
        return output::print(&format!(
            "token:                  {token}\nline of a token file:   {line}\n"
        ));
    }
    let Some(data) = args.data.clone() else {
        return Err(Failure::usage("give --data, the folder of the models"));
    };
    serve(args.config(data)).map_err(Failure::Other)
}
